// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/text.h"
#include "tokenizer/special_splitter.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_parts.h"

namespace plumb {
namespace {

std::string key(std::string_view name) {
  return "tokenizer.ggml." + std::string(name);
}

// What the kind of model and its pre-tokenizer say where the file is silent.
struct Defaults {
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  bool clean_spaces = false;
  SpecialIds ids;
};

Result<Vocab> read_vocab(const Metadata& metadata) {
  const auto* texts = metadata.find<std::vector<std::string>>(key("tokens"));
  if (texts == nullptr) {
    return metadata.get<std::vector<std::string>>(key("tokens")).status();
  }
  std::vector<float> scores;
  if (const auto* list = metadata.find<std::vector<double>>(key("scores"))) {
    for (const double score : *list) {
      scores.push_back(std::isnan(score) ? 0.0F : static_cast<float>(score));
    }
  }
  std::vector<TokenType> types;
  if (const auto* list = metadata.find<std::vector<std::int64_t>>(key("token_type"))) {
    for (const std::int64_t type : *list) {
      const bool known = type >= 1 && type <= 6;
      types.push_back(known ? static_cast<TokenType>(type) : TokenType::kUnused);
    }
  }
  return Vocab::create(*texts, std::move(scores), std::move(types));
}

Result<std::optional<TokenId>> read_id(const Metadata& metadata, std::string_view name,
                                       std::optional<TokenId> fallback, const Vocab& vocab) {
  const auto* id = metadata.find<std::int64_t>(key(name));
  constexpr std::int64_t kAbsent = 0xFFFFFFFF;
  if (id == nullptr) {
    return fallback && vocab.contains(*fallback) ? fallback : std::nullopt;
  }
  if (*id == -1 || *id == kAbsent) {
    return std::optional<TokenId>();
  }
  if (*id < 0 || *id >= vocab.size()) {
    return Status{Code::kInvalidArgument, key(name) + " is " + std::to_string(*id) +
                                              ", the vocabulary has " +
                                              std::to_string(vocab.size()) + " tokens"};
  }
  return std::optional<TokenId>(static_cast<TokenId>(*id));
}

Status read_ids(const Metadata& metadata, const SpecialIds& defaults, TokenizerParts* parts) {
  SpecialIds& ids = parts->special;
  const Vocab& vocab = *parts->vocab;
  PLUMB_ASSIGN(ids.bos, read_id(metadata, "bos_token_id", defaults.bos, vocab));
  PLUMB_ASSIGN(ids.eos, read_id(metadata, "eos_token_id", defaults.eos, vocab));
  PLUMB_ASSIGN(ids.eot, read_id(metadata, "eot_token_id", defaults.eot, vocab));
  PLUMB_ASSIGN(ids.unknown, read_id(metadata, "unknown_token_id", defaults.unknown, vocab));
  PLUMB_ASSIGN(ids.padding, read_id(metadata, "padding_token_id", defaults.padding, vocab));
  PLUMB_ASSIGN(ids.separator, read_id(metadata, "seperator_token_id", defaults.separator, vocab));
  PLUMB_ASSIGN(ids.classification,
               read_id(metadata, "cls_token_id", defaults.classification, vocab));
  PLUMB_ASSIGN(ids.mask, read_id(metadata, "mask_token_id", defaults.mask, vocab));
  return {};
}

void find_end_of_generation(const std::vector<TokenId>& extra, TokenizerParts* parts) {
  std::vector<TokenId>& ids = parts->end_of_generation;
  for (const auto& id : {parts->special.eos, parts->special.eot}) {
    if (id) {
      ids.push_back(*id);
    }
  }
  for (const TokenId id : extra) {
    if (parts->vocab->contains(id)) {
      ids.push_back(id);
    }
  }
  // Files name one such token, chat models end turns with another. Only what the file itself calls
  // a control token counts: "</s>" is an ordinary word in some vocabularies.
  std::vector<ControlText> controls;
  for (TokenId id = 0; id < parts->vocab->size(); ++id) {
    if (parts->vocab->type(id) == TokenType::kControl) {
      controls.push_back({id, parts->vocab->text(id)});
    }
  }
  add_ends_by_text(controls, &ids);
  sort_unique(&ids);
}

Result<std::vector<MergePair>> read_merges(const Metadata& metadata) {
  const auto* list = metadata.find<std::vector<std::string>>(key("merges"));
  if (list == nullptr) {
    return metadata.get<std::vector<std::string>>(key("merges")).status();
  }
  std::vector<MergePair> merges;
  merges.reserve(list->size());
  for (const std::string& line : *list) {
    const std::size_t space = line.find(' ', 1);
    if (space == std::string::npos) {
      return Status{Code::kInvalidArgument,
                    key("merges") + " entry " + std::to_string(merges.size()) + " has no space"};
    }
    merges.push_back(
        {std::string_view(line).substr(0, space), std::string_view(line).substr(space + 1)});
  }
  return merges;
}

Result<Defaults> make_byte_bpe(const Metadata& metadata, std::string_view pre,
                               TokenizerParts* parts) {
  PLUMB_ASSIGN(const SplitRule rule, find_split_rule(pre));
  PLUMB_ASSIGN(PreTokenizer splits, PreTokenizer::create(rule.patterns));
  PLUMB_ASSIGN(const std::vector<MergePair> merges, read_merges(metadata));
  BpeModel model(*parts->vocab, merges, {.ignore_merges = rule.flags.ignore_merges});
  parts->model = std::make_unique<ByteBpeTextModel>(std::move(splits), std::move(model));
  Defaults defaults;
  defaults.add_bos = rule.flags.add_bos;
  defaults.clean_spaces = rule.flags.clean_spaces;
  constexpr TokenId kGpt2End = 11;
  defaults.ids.eos = kGpt2End;
  if (!rule.flags.no_bos) {
    defaults.ids.bos = kGpt2End;
  }
  return defaults;
}

Result<Defaults> make_gemma4(const Metadata& metadata, TokenizerParts* parts) {
  PLUMB_ASSIGN(const SplitRule rule, find_split_rule("gemma4"));
  PLUMB_ASSIGN(PreTokenizer splits, PreTokenizer::create(rule.patterns));
  PLUMB_ASSIGN(const std::vector<MergePair> merges, read_merges(metadata));
  BpeModel model(*parts->vocab, merges, {.byte_level = false, .byte_fallback = true});
  parts->model = std::make_unique<LineBpeTextModel>(std::move(splits), std::move(model));
  return Defaults{.add_bos = true, .clean_spaces = true, .ids = {.bos = 2, .eos = 1}};
}

Defaults spm_defaults() {
  return {.add_bos = true, .add_space_prefix = true, .ids = {.bos = 1, .eos = 2, .unknown = 0}};
}

Defaults unigram_defaults() {
  return {.add_eos = true, .ids = {.eos = 1, .unknown = 2, .padding = 0}};
}

Defaults wordpiece_defaults() {
  return {
      .clean_spaces = true,
      .ids = {.unknown = 100, .padding = 0, .separator = 102, .classification = 101, .mask = 103}};
}

Status make_unigram(const Metadata& metadata, bool add_space_prefix, TokenizerParts* parts) {
  std::string bytes;
  if (const auto* list = metadata.find<std::vector<std::int64_t>>(key("precompiled_charsmap"))) {
    for (const std::int64_t byte : *list) {
      bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte & 0xFF)));
    }
  }
  PLUMB_ASSIGN(Charsmap charsmap, Charsmap::create(bytes));
  UnigramModel model(*parts->vocab, {.unknown = parts->special.unknown.value_or(kNoToken)});
  const UnigramTextModel::Spaces spaces{
      .remove_extra = metadata.get_or<bool>(key("remove_extra_whitespaces"), false),
      .add_prefix = add_space_prefix};
  parts->model = std::make_unique<UnigramTextModel>(std::move(model), std::move(charsmap), spaces);
  return {};
}

// A text always stands between [CLS] and [SEP].
void add_wordpiece(TokenizerParts* parts) {
  const SpecialIds& special = parts->special;
  parts->adds_space_prefix = true;
  parts->model = std::make_unique<BertTextModel>(
      wordpiece_with_mark(*parts->vocab, {.unknown = special.unknown.value_or(kNoToken)}));
  if (special.classification) {
    parts->prefix.push_back(*special.classification);
  }
  if (special.separator) {
    parts->suffix.push_back(*special.separator);
  }
}

// Phi-3 files do not say that their special tokens swallow the white space after them.
std::vector<TokenId> tokens_that_eat_space(const Metadata& metadata, std::string_view model,
                                           const Vocab& vocab) {
  const std::string name = to_lower_ascii(metadata.get_or<std::string>("general.name", ""));
  const std::string family = metadata.get_or<std::string>("general.architecture", "");
  const bool is_phi3 = name.find("phi-3") != std::string::npos ||
                       name.find("phi3") != std::string::npos ||
                       (family == "phi3" && model == "llama");
  std::vector<TokenId> ids;
  for (TokenId id = 0; is_phi3 && id < vocab.size(); ++id) {
    const std::string_view text = vocab.text(id);
    if (text != "<unk>" && text != "<s>" && text != "<|endoftext|>") {
      ids.push_back(id);
    }
  }
  return ids;
}

void add_affixes(const Metadata& metadata, bool always_bos, const Defaults& defaults,
                 TokenizerParts* parts) {
  const bool add_bos = always_bos || metadata.get_or<bool>(key("add_bos_token"), defaults.add_bos);
  if (add_bos && parts->special.bos) {
    parts->prefix.push_back(*parts->special.bos);
  }
  if (metadata.get_or<bool>(key("add_eos_token"), defaults.add_eos) && parts->special.eos) {
    parts->suffix.push_back(*parts->special.eos);
  }
}

// The model kinds whose tokens are written with U+2581 and <0xNN>.
bool is_sentencepiece(std::string_view model) {
  return model == "llama" || model == "t5" || model == "gemma4" || model == "bert";
}

void fill_bytes(std::string_view model, TokenizerParts* parts) {
  const Vocab& vocab = *parts->vocab;
  parts->bytes.reserve(static_cast<std::size_t>(vocab.size()));
  for (TokenId id = 0; id < vocab.size(); ++id) {
    parts->bytes.push_back(is_sentencepiece(model)
                               ? sentencepiece_bytes(vocab.text(id), vocab.type(id))
                               : byte_level_bytes(vocab.text(id), vocab.type(id)));
  }
}

Result<Defaults> make_defaults_and_bpe(const Metadata& metadata, std::string_view model,
                                       TokenizerParts* parts) {
  if (model == "gpt2") {
    return make_byte_bpe(metadata, metadata.get_or<std::string>(key("pre"), "default"), parts);
  }
  if (model == "gemma4") {
    return make_gemma4(metadata, parts);
  }
  if (model == "llama") {
    return spm_defaults();
  }
  if (model == "t5") {
    return unigram_defaults();
  }
  if (model == "bert") {
    return wordpiece_defaults();
  }
  return Status{Code::kUnsupported,
                key("model") + " '" + std::string(model) +
                    "' is not supported; known are gpt2, llama, t5, gemma4, bert"};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_metadata(
    const Metadata& metadata, const std::vector<TokenId>& extra_end_of_generation) {
  PLUMB_ASSIGN(const std::string model, metadata.get<std::string>(key("model")));
  TokenizerParts parts;
  PLUMB_ASSIGN(Vocab vocab, read_vocab(metadata));
  parts.vocab = std::make_unique<const Vocab>(std::move(vocab));
  PLUMB_ASSIGN(const Defaults defaults, make_defaults_and_bpe(metadata, model, &parts));
  PLUMB_RETURN_IF_ERROR(read_ids(metadata, defaults.ids, &parts));
  const bool add_space_prefix =
      metadata.get_or<bool>(key("add_space_prefix"), defaults.add_space_prefix);
  if (model == "llama") {
    parts.adds_space_prefix = add_space_prefix;
    parts.model = std::make_unique<SpmTextModel>(
        SpmModel(*parts.vocab, parts.special.unknown.value_or(kNoToken)), add_space_prefix);
  } else if (model == "t5") {
    parts.adds_space_prefix = add_space_prefix;
    PLUMB_RETURN_IF_ERROR(make_unigram(metadata, add_space_prefix, &parts));
  } else if (model == "bert") {
    add_wordpiece(&parts);
  }
  parts.splitter = std::make_unique<SpecialSplitter>(
      *parts.vocab, tokens_that_eat_space(metadata, model, *parts.vocab));
  if (model != "bert") {
    add_affixes(metadata, model == "gemma4", defaults, &parts);
  }
  parts.clean_spaces = defaults.clean_spaces;
  fill_bytes(model, &parts);
  find_end_of_generation(extra_end_of_generation, &parts);
  return std::make_unique<Tokenizer>(std::move(parts));
}

}  // namespace plumb
