// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/synthesize_tokenizer.h"

#include "base/text.h"

namespace plumb {
namespace {

// The byte alphabet of GPT-2: printable Latin-1 as itself, the rest from U+0100 on.
std::vector<std::string> byte_alphabet() {
  std::vector<std::string> alphabet;
  char32_t next = 256;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    std::string text;
    append_utf8(&text, printable ? b : next++);
    alphabet.push_back(std::move(text));
  }
  return alphabet;
}

Json added_token(std::int64_t id, const std::string& content) {
  return JsonObject{{"id", Json(id)},  {"content", Json(content)}, {"single_word", false},
                    {"lstrip", false}, {"rstrip", false},          {"normalized", false},
                    {"special", true}};
}

}  // namespace

SynthesisTokenizer synthesis_tokenizer(std::int64_t vocab_size) {
  SynthesisTokenizer out;
  out.tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|pad|>"};
  out.num_control = static_cast<std::int64_t>(out.tokens.size());
  const std::vector<std::string> alphabet = byte_alphabet();
  out.tokens.insert(out.tokens.end(), alphabet.begin(), alphabet.end());
  // Words in order of length; each is its longest prefix and one letter, so none comes twice.
  std::vector<std::string> parents{alphabet[' ']};
  for (char c = 'a'; c <= 'z'; ++c) {
    parents.emplace_back(1, c);
  }
  const std::size_t wanted = static_cast<std::size_t>(vocab_size);
  for (std::size_t p = 0; out.tokens.size() < wanted; ++p) {
    for (char c = 'a'; c <= 'z' && out.tokens.size() < wanted; ++c) {
      out.merges.push_back(parents[p] + " " + c);
      out.tokens.push_back(parents[p] + c);
      parents.push_back(out.tokens.back());
    }
  }
  return out;
}

std::string synthesis_chat_template() {
  return "{%- for message in messages %}"
         "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
         "{%- endfor %}"
         "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{%- endif %}";
}

Json tokenizer_json(const SynthesisTokenizer& tokenizer) {
  JsonArray added;
  for (std::int64_t id = 0; id < tokenizer.num_control; ++id) {
    added.push_back(added_token(id, tokenizer.tokens[static_cast<std::size_t>(id)]));
  }
  JsonObject vocab;
  for (std::size_t id = 0; id < tokenizer.tokens.size(); ++id) {
    vocab.append(tokenizer.tokens[id], static_cast<std::int64_t>(id));
  }
  const JsonObject byte_level{{"type", "ByteLevel"},
                              {"add_prefix_space", false},
                              {"trim_offsets", true},
                              {"use_regex", true}};
  return JsonObject{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", Json(std::move(added))},
      {"normalizer", nullptr},
      {"pre_tokenizer", Json(byte_level)},
      {"post_processor", nullptr},
      {"decoder", Json(byte_level)},
      {"model",
       JsonObject{{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"continuing_subword_prefix", nullptr},
                  {"end_of_word_suffix", nullptr},
                  {"fuse_unk", false},
                  {"byte_fallback", false},
                  {"ignore_merges", false},
                  {"vocab", Json(std::move(vocab))},
                  {"merges", Json(JsonArray(tokenizer.merges.begin(), tokenizer.merges.end()))}}}};
}

Json tokenizer_config_json(const SynthesisTokenizer& tokenizer, std::int64_t context_len) {
  const auto token = [&](std::int64_t id) {
    return Json(tokenizer.tokens[static_cast<std::size_t>(id)]);
  };
  JsonObject decoder;
  for (std::int64_t id = 0; id < tokenizer.num_control; ++id) {
    decoder.append(std::to_string(id), JsonObject{{"content", token(id)},
                                                  {"lstrip", false},
                                                  {"normalized", false},
                                                  {"rstrip", false},
                                                  {"single_word", false},
                                                  {"special", true}});
  }
  return JsonObject{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"add_bos_token", false},
                    {"added_tokens_decoder", Json(std::move(decoder))},
                    {"bos_token", nullptr},
                    {"eos_token", token(kSynthesisTurnEnd)},
                    {"pad_token", token(kSynthesisPad)},
                    {"clean_up_tokenization_spaces", false},
                    {"model_max_length", Json(context_len)},
                    {"chat_template", Json(synthesis_chat_template())}};
}

}  // namespace plumb
