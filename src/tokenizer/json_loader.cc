// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "tokenizer/json_fields.h"
#include "tokenizer/json_text_model.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_parts.h"

namespace plumb {
namespace {

Status malformed(const std::string& what) {
  return {Code::kInvalidArgument, "tokenizer.json: " + what};
}

// The lists a Vocab is made of, filled in any order of ids.
struct VocabLists {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<TokenType> types;
  std::int64_t max_id = 0;

  Status set(std::int64_t id, std::string_view text, TokenType type, float score = 0.0F) {
    if (id < 0 || id > max_id) {
      return malformed("token id " + std::to_string(id) + ", at most " + std::to_string(max_id));
    }
    const auto at = static_cast<std::size_t>(id);
    if (at >= texts.size()) {
      texts.resize(at + 1);
      scores.resize(at + 1, 0.0F);
      types.resize(at + 1, TokenType::kUnused);
    }
    texts[at] = text;
    scores[at] = score;
    types[at] = type;
    return {};
  }
};

class Loader {
 public:
  Result<std::unique_ptr<Tokenizer>> load(std::string_view tokenizer, std::string_view config,
                                          std::string_view generation) {
    PLUMB_ASSIGN(json_, parse_json(tokenizer));
    PLUMB_RETURN_IF_ERROR(parse_optional("tokenizer_config.json", config, &config_));
    PLUMB_RETURN_IF_ERROR(parse_optional("generation_config.json", generation, &generation_));
    PLUMB_RETURN_IF_ERROR(read_model_kind());
    PLUMB_RETURN_IF_ERROR(read_vocab());
    PLUMB_RETURN_IF_ERROR(read_added_tokens());
    PLUMB_ASSIGN(Vocab vocab, Vocab::create(lists_.texts, lists_.scores, lists_.types));
    parts_.vocab = std::make_unique<const Vocab>(std::move(vocab));
    PLUMB_RETURN_IF_ERROR(make_pipeline());
    PLUMB_RETURN_IF_ERROR(read_decoder());
    read_special_ids();
    PLUMB_RETURN_IF_ERROR(read_post_processor());
    apply_config_to_affixes();
    read_end_of_generation();
    parts_.clean_spaces = bool_field(config_, "clean_up_tokenization_spaces", cleans_spaces_);
    return std::make_unique<Tokenizer>(std::move(parts_));
  }

 private:
  static Status parse_optional(const char* name, std::string_view text, Json* out) {
    *out = Json(JsonObject());
    if (trim(text).empty()) {
      return {};
    }
    auto parsed = parse_json(text);
    if (!parsed.ok()) {
      return parsed.status().with(name);
    }
    *out = std::move(parsed).value();
    return {};
  }

  const Json& component(std::string_view name) const {
    const Json* found = json_.find(name);
    return found != nullptr ? *found : null_;
  }

  Status read_model_kind() {
    model_ = json_.find("model");
    if (model_ == nullptr || !model_->is_object()) {
      return malformed("no object 'model'");
    }
    const Json* type = model_->find("type");
    if (type != nullptr && type->is_string()) {
      kind_ = type->as_string();
    } else {
      kind_ = untyped_kind();
    }
    if (kind_ == "WordPiece") {
      return {};
    }
    if (kind_ != "BPE" && kind_ != "Unigram") {
      return {Code::kUnsupported, "tokenizer.json: model '" + kind_ + "' is not supported"};
    }
    for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json* value = model_->find(affix);
      if (value != nullptr && value->is_string() && !value->as_string().empty()) {
        return {Code::kUnsupported, std::string("tokenizer.json: ") + affix + " is not supported"};
      }
    }
    byte_fallback_ = bool_field(*model_, "byte_fallback", false);
    return {};
  }

  // Older files do not say what they hold.
  const char* untyped_kind() const {
    if (model_->find("merges") != nullptr) {
      return "BPE";
    }
    return model_->find("max_input_chars_per_word") != nullptr ? "WordPiece" : "";
  }

  TokenType plain_type(std::string_view text) const {
    return byte_fallback_ && parse_byte_token(text) >= 0 ? TokenType::kByte : TokenType::kNormal;
  }

  static std::int64_t num_entries(const Json* list) {
    if (list == nullptr) {
      return 0;
    }
    if (list->is_array()) {
      return static_cast<std::int64_t>(list->as_array().size());
    }
    return list->is_object() ? static_cast<std::int64_t>(list->as_object().size()) : 0;
  }

  Status read_vocab() {
    const Json* vocab = model_->find("vocab");
    // Vocabularies may have holes, but a short file must not ask for much memory.
    constexpr std::int64_t kFreeHoles = 1 << 16;
    lists_.max_id = kFreeHoles + 4 * (num_entries(vocab) + num_entries(json_.find("added_tokens")));
    if (kind_ == "Unigram") {
      return read_scored_vocab(vocab);
    }
    if (vocab == nullptr || !vocab->is_object()) {
      return malformed("no object 'vocab'");
    }
    for (const JsonMember& member : vocab->as_object()) {
      if (!member.value.is_int()) {
        return malformed("the id of a token is no integer");
      }
      PLUMB_RETURN_IF_ERROR(lists_.set(member.value.as_int(), member.key, plain_type(member.key)));
    }
    return {};
  }

  Status read_scored_vocab(const Json* vocab) {
    if (vocab == nullptr || !vocab->is_array()) {
      return malformed("no list 'vocab'");
    }
    std::int64_t id = 0;
    for (const Json& entry : vocab->as_array()) {
      const bool is_pair = entry.is_array() && entry.as_array().size() == 2 &&
                           entry.as_array()[0].is_string() && entry.as_array()[1].is_number();
      if (!is_pair) {
        return malformed("an entry of 'vocab' is not [text, score]");
      }
      const std::string& text = entry.as_array()[0].as_string();
      const auto score = static_cast<float>(entry.as_array()[1].as_double());
      PLUMB_RETURN_IF_ERROR(lists_.set(id++, text, plain_type(text), score));
      scores_.push_back(entry.as_array()[1].as_double());
    }
    const Json* unknown = model_->find("unk_id");
    if (unknown != nullptr && unknown->is_int()) {
      if (unknown->as_int() < 0 || unknown->as_int() >= id) {
        return malformed("unk_id is out of range");
      }
      unknown_ = static_cast<TokenId>(unknown->as_int());
      // Its score counts for the lowest one, but its text is never a token of the text.
      lists_.types[static_cast<std::size_t>(unknown_)] = TokenType::kUnknown;
    }
    return {};
  }

  Status add_token(const Json& entry, std::int64_t id) {
    AddedToken token;
    PLUMB_ASSIGN(token.content, string_field(entry, "content"));
    token.special = bool_field(entry, "special", false);
    token.lstrip = bool_field(entry, "lstrip", false);
    token.rstrip = bool_field(entry, "rstrip", false);
    token.single_word = bool_field(entry, "single_word", false);
    token.normalized = bool_field(entry, "normalized", !token.special);
    const TokenType type = token.special ? TokenType::kControl : TokenType::kUserDefined;
    const auto [place, is_new] = added_ids_.insert({id, token.content});
    if (!is_new && place->second == token.content) {
      return {};
    }
    const auto at = static_cast<std::size_t>(std::max<std::int64_t>(id, 0));
    const float score = at < lists_.scores.size() ? lists_.scores[at] : 0.0F;
    PLUMB_RETURN_IF_ERROR(lists_.set(id, token.content, type, score));
    token.id = static_cast<TokenId>(id);
    added_.push_back(std::move(token));
    return {};
  }

  Status read_added_tokens() {
    const Json& list = component("added_tokens");
    if (list.is_array()) {
      for (const Json& entry : list.as_array()) {
        std::int64_t id = -1;
        const Json* value = entry.find("id");
        if (value == nullptr || !value->to_int64(&id)) {
          return malformed("an added token has no id");
        }
        PLUMB_RETURN_IF_ERROR(add_token(entry, id));
      }
    }
    const Json* more = config_.find("added_tokens_decoder");
    if (more != nullptr && more->is_object()) {
      for (const JsonMember& member : more->as_object()) {
        std::int64_t id = -1;
        if (!parse_int64(member.key, &id)) {
          return malformed("added_tokens_decoder has the key '" + member.key + "'");
        }
        PLUMB_RETURN_IF_ERROR(add_token(member.value, id));
      }
    }
    return {};
  }

  Result<std::vector<MergePair>> read_merges() const {
    const Json* list = model_->find("merges");
    if (list == nullptr || !list->is_array()) {
      return malformed("no list 'merges'");
    }
    std::vector<MergePair> merges;
    merges.reserve(list->as_array().size());
    for (const Json& entry : list->as_array()) {
      MergePair pair;
      if (!read_merge(entry, &pair)) {
        return malformed("merge " + std::to_string(merges.size()) + " is not a pair");
      }
      merges.push_back(pair);
    }
    return merges;
  }

  // Older files write "a b", newer ones ["a", "b"].
  static bool read_merge(const Json& entry, MergePair* pair) {
    if (entry.is_string()) {
      const std::string_view line = entry.as_string();
      const std::size_t space = line.find(' ');
      if (space == std::string_view::npos) {
        return false;
      }
      *pair = {line.substr(0, space), line.substr(space + 1)};
      return true;
    }
    if (!entry.is_array() || entry.as_array().size() != 2 || !entry.as_array()[0].is_string() ||
        !entry.as_array()[1].is_string()) {
      return false;
    }
    *pair = {entry.as_array()[0].as_string(), entry.as_array()[1].as_string()};
    return true;
  }

  Result<BpeModel> make_bpe(bool byte_level) {
    PLUMB_ASSIGN(const std::vector<MergePair> merges, read_merges());
    const Json* unknown = model_->find("unk_token");
    if (unknown != nullptr && unknown->is_string()) {
      unknown_ = parts_.vocab->find(unknown->as_string());
    }
    return BpeModel(*parts_.vocab, merges,
                    {.byte_level = byte_level,
                     .ignore_merges = bool_field(*model_, "ignore_merges", false),
                     .byte_fallback = byte_fallback_,
                     .unknown = unknown_,
                     .fuse_unknown = bool_field(*model_, "fuse_unk", false)});
  }

  Result<WordPieceModel> make_wordpiece() {
    PLUMB_ASSIGN(const std::string unknown, string_field(*model_, "unk_token"));
    PLUMB_ASSIGN(word_prefix_, string_field(*model_, "continuing_subword_prefix"));
    if (word_prefix_.empty()) {
      return malformed("continuing_subword_prefix is empty");
    }
    unknown_ = parts_.vocab->find(unknown);
    WordPieceOptions options{.unknown = unknown_};
    if (const Json* limit = model_->find("max_input_chars_per_word"); limit != nullptr) {
      if (!limit->to_int64(&options.max_word_chars) || options.max_word_chars < 1) {
        return malformed("max_input_chars_per_word is no positive integer");
      }
    }
    return wordpiece_with_prefix(*parts_.vocab, word_prefix_, options);
  }

  Result<JsonModel> make_model(bool byte_level) {
    if (kind_ == "Unigram") {
      return JsonModel(UnigramModel(*parts_.vocab, {.unknown = unknown_,
                                                    .byte_fallback = byte_fallback_,
                                                    .match_byte_tokens = true,
                                                    .exact_scores = scores_}));
    }
    if (kind_ == "WordPiece") {
      PLUMB_ASSIGN(WordPieceModel model, make_wordpiece());
      return JsonModel(std::move(model));
    }
    PLUMB_ASSIGN(BpeModel model, make_bpe(byte_level));
    return JsonModel(std::move(model));
  }

  Status make_pipeline() {
    PLUMB_ASSIGN(Normalizer normalizer, Normalizer::create(component("normalizer")));
    PLUMB_ASSIGN(JsonPreTokenizer cutter, JsonPreTokenizer::create(component("pre_tokenizer")));
    std::vector<AddedToken> raw;
    std::vector<AddedToken> normalized;
    std::vector<std::string> raw_specials;
    RegexScratch scratch;
    for (AddedToken token : added_) {
      if (!token.normalized || normalizer.empty()) {
        raw.push_back(std::move(token));
        continue;
      }
      if (token.special && !token.content.empty()) {
        raw_specials.push_back(token.content);
      }
      normalizer.apply(&token.content, &scratch);
      normalized.push_back(std::move(token));
    }
    parts_.splitter = std::make_unique<AddedTokenSplitter>(raw);
    PLUMB_ASSIGN(JsonModel model, make_model(cutter.is_byte_level()));
    parts_.model = std::make_unique<JsonTextModel>(
        JsonTextModel::Stages{std::move(normalizer), std::move(cutter), std::move(model),
                              std::move(normalized), std::move(raw_specials)});
    return {};
  }

  // Only what a decoder says about single tokens and about the front of the text is used.
  Status read_decoder() {
    PLUMB_ASSIGN(const std::vector<const Json*> steps,
                 flatten_sequence(component("decoder"), "decoders"));
    bool byte_level = false;
    for (const Json* step : steps) {
      PLUMB_ASSIGN(const std::string type, string_field(*step, "type"));
      if (type == "WordPiece") {
        cleans_spaces_ = bool_field(*step, "cleanup", true);
      }
      byte_level = byte_level || type == "ByteLevel";
      parts_.adds_space_prefix = parts_.adds_space_prefix || strips_front(*step, type);
    }
    if (kind_ == "WordPiece") {
      fill_word_bytes();
      return {};
    }
    for (TokenId id = 0; id < parts_.vocab->size(); ++id) {
      const std::string_view text = parts_.vocab->text(id);
      const TokenType type = parts_.vocab->type(id);
      // Added tokens of SentencePiece vocabularies are written with U+2581 like all others.
      const bool is_added = type == TokenType::kUserDefined;
      parts_.bytes.push_back(byte_level
                                 ? byte_level_bytes(text, type)
                                 : sentencepiece_bytes(text, is_added ? TokenType::kNormal : type));
    }
    return {};
  }

  // A word brings the space before it, which the first one of a text loses.
  void fill_word_bytes() {
    parts_.adds_space_prefix = true;
    for (TokenId id = 0; id < parts_.vocab->size(); ++id) {
      const std::string_view text = parts_.vocab->text(id);
      if (parts_.vocab->type(id) == TokenType::kControl) {
        parts_.bytes.emplace_back(text);
      } else if (text.starts_with(word_prefix_)) {
        parts_.bytes.emplace_back(text.substr(word_prefix_.size()));
      } else {
        parts_.bytes.push_back(" " + std::string(text));
      }
    }
  }

  static bool strips_front(const Json& step, std::string_view type) {
    if (type == "Strip") {
      std::int64_t start = 0;
      const Json* value = step.find("start");
      const Json* content = step.find("content");
      return value != nullptr && value->to_int64(&start) && start > 0 && content != nullptr &&
             content->is_string() && content->as_string() == " ";
    }
    if (type == "Metaspace") {
      const Json* scheme = step.find("prepend_scheme");
      return scheme != nullptr && scheme->is_string() ? scheme->as_string() != "never"
                                                      : bool_field(step, "add_prefix_space", true);
    }
    return false;
  }

  std::optional<TokenId> config_token(const char* name) const {
    const Json* value = config_.find(name);
    if (value != nullptr && value->is_object()) {
      value = value->find("content");
    }
    if (value == nullptr || !value->is_string() || value->as_string().empty()) {
      return std::nullopt;
    }
    const TokenId id = parts_.vocab->find(value->as_string());
    return id == kNoToken ? std::nullopt : std::optional(id);
  }

  void read_special_ids() {
    SpecialIds& ids = parts_.special;
    ids.bos = config_token("bos_token");
    ids.eos = config_token("eos_token");
    ids.padding = config_token("pad_token");
    ids.separator = config_token("sep_token");
    ids.classification = config_token("cls_token");
    ids.mask = config_token("mask_token");
    ids.unknown = unknown_ != kNoToken ? std::optional(unknown_) : config_token("unk_token");
  }

  Status read_post_processor() {
    PLUMB_ASSIGN(const std::vector<const Json*> steps,
                 flatten_sequence(component("post_processor"), "processors"));
    for (const Json* step : steps) {
      PLUMB_ASSIGN(const std::string type, string_field(*step, "type"));
      if (type == "TemplateProcessing") {
        PLUMB_RETURN_IF_ERROR(read_template(*step));
      } else if (type == "BertProcessing" || type == "RobertaProcessing") {
        PLUMB_RETURN_IF_ERROR(add_pair_token(*step, "cls", &parts_.prefix));
        PLUMB_RETURN_IF_ERROR(add_pair_token(*step, "sep", &parts_.suffix));
      } else if (type != "ByteLevel") {
        return {Code::kUnsupported, "post_processor '" + type + "' is not supported"};
      }
    }
    return {};
  }

  Status add_pair_token(const Json& step, const char* name, std::vector<TokenId>* ids) const {
    const Json* pair = step.find(name);
    std::int64_t id = -1;
    if (pair == nullptr || !pair->is_array() || pair->as_array().size() != 2 ||
        !pair->as_array()[1].to_int64(&id)) {
      return malformed(std::string("post_processor: '") + name + "' is not [text, id]");
    }
    return add_id(id, ids);
  }

  Status add_id(std::int64_t id, std::vector<TokenId>* ids) const {
    if (id < 0 || id >= parts_.vocab->size()) {
      return malformed("post_processor: id " + std::to_string(id) + " is out of range");
    }
    ids->push_back(static_cast<TokenId>(id));
    return {};
  }

  Status read_template(const Json& step) {
    const Json* single = step.find("single");
    const Json* tokens = step.find("special_tokens");
    if (single == nullptr || !single->is_array() || tokens == nullptr) {
      return malformed("post_processor: a template without 'single' or 'special_tokens'");
    }
    std::vector<TokenId>* target = &parts_.prefix;
    for (const Json& part : single->as_array()) {
      if (part.find("Sequence") != nullptr) {
        target = &parts_.suffix;
        continue;
      }
      const Json* special = part.find("SpecialToken");
      if (special == nullptr) {
        return malformed("post_processor: a part is neither Sequence nor SpecialToken");
      }
      PLUMB_ASSIGN(const std::string name, string_field(*special, "id"));
      const Json* entry = tokens->find(name);
      const Json* ids = entry != nullptr ? entry->find("ids") : nullptr;
      if (ids == nullptr || !ids->is_array()) {
        return malformed("post_processor: special token '" + name + "' has no ids");
      }
      for (const Json& value : ids->as_array()) {
        std::int64_t id = -1;
        value.to_int64(&id);
        PLUMB_RETURN_IF_ERROR(add_id(id, target));
      }
    }
    return {};
  }

  // The Llama and Gemma classes of Python take these two switches from tokenizer_config.json and
  // not from the template; other classes take them where the file has no template.
  void apply_config_to_affixes() {
    const Json* name = config_.find("tokenizer_class");
    const std::string family = name != nullptr && name->is_string() ? name->as_string() : "";
    const bool rules =
        family.find("Llama") != std::string::npos || family.find("Gemma") != std::string::npos;
    apply_switch("add_bos_token", parts_.special.bos, rules, &parts_.prefix);
    apply_switch("add_eos_token", parts_.special.eos, rules, &parts_.suffix);
  }

  void apply_switch(const char* name, std::optional<TokenId> id, bool rules,
                    std::vector<TokenId>* ids) const {
    const Json* value = config_.find(name);
    if (value == nullptr || !value->is_bool() || !id) {
      return;
    }
    if (value->as_bool() && ids->empty()) {
      ids->push_back(*id);
    } else if (!value->as_bool() && rules) {
      std::erase(*ids, *id);
    }
  }

  void read_end_of_generation() {
    std::vector<TokenId>& ids = parts_.end_of_generation;
    const auto add = [&](const Json& value) {
      std::int64_t id = -1;
      if (value.to_int64(&id) && id >= 0 && id < parts_.vocab->size()) {
        ids.push_back(static_cast<TokenId>(id));
      }
    };
    if (const Json* eos = generation_.find("eos_token_id"); eos != nullptr && eos->is_array()) {
      std::for_each(eos->as_array().begin(), eos->as_array().end(), add);
    } else if (eos != nullptr) {
      add(*eos);
    }
    if (parts_.special.eos) {
      ids.push_back(*parts_.special.eos);
    }
    if (ids.empty()) {
      std::vector<ControlText> controls;
      for (const AddedToken& token : added_) {
        if (token.special) {
          controls.push_back({token.id, token.content});
        }
      }
      add_ends_by_text(controls, &ids);
    }
    sort_unique(&ids);
  }

  Json null_;
  Json json_;
  Json config_;
  Json generation_;
  const Json* model_ = nullptr;
  std::string kind_;
  bool byte_fallback_ = false;
  bool cleans_spaces_ = false;
  std::string word_prefix_;  // of a WordPiece vocabulary
  TokenId unknown_ = kNoToken;
  VocabLists lists_;
  std::vector<double> scores_;
  std::vector<AddedToken> added_;
  std::map<std::int64_t, std::string> added_ids_;
  TokenizerParts parts_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_tokenizer_json(
    std::string_view tokenizer_json, std::string_view tokenizer_config_json,
    std::string_view generation_config_json) {
  return Loader().load(tokenizer_json, tokenizer_config_json, generation_config_json);
}

}  // namespace plumb
