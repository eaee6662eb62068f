// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_rules.h"

#include <array>
#include <span>

namespace plumb {
namespace {

// Building blocks of the patterns.
#define RE_CI R"re((?i:'s|'t|'re|'ve|'m|'ll|'d))re"
#define RE_X R"re([^\r\n\p{L}\p{N}]?)re"
#define RE_U R"re([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])re"
#define RE_W R"re([\p{Ll}\p{Lm}\p{Lo}\p{M}])re"
// RE_U and RE_W without Han, as complements: an intersection would cost a look-ahead a character.
#define RE_UH R"re([^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])re"
#define RE_WH R"re([^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}])re"
#define RE_E R"re(\s*[\r\n]+|\s+(?!\S)|\s+)re"

constexpr std::string_view kGpt2 =
    R"re('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)re";
constexpr std::string_view kDigitsOne =
    RE_CI "|" RE_X R"re(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)re" RE_E;
constexpr std::string_view kDigitsThree =
    RE_CI "|" RE_X R"re(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)re" RE_E;
constexpr std::string_view kQwen35 =
    RE_CI "|" RE_X R"re([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)re" RE_E;
constexpr std::string_view kTekken =
    RE_X RE_U "*" RE_W "+|" RE_X RE_U "+" RE_W R"re(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)re" RE_E;
constexpr std::string_view kO200k =
    RE_X RE_U "*" RE_W "+" RE_CI "?|" RE_X RE_U "+" RE_W "*" RE_CI
              R"re(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)re" RE_E;
constexpr std::string_view kKimi =
    R"re([\p{Han}]+|)re" RE_X RE_UH "*" RE_WH "+" RE_CI "?|" RE_X RE_UH "+" RE_WH "*" RE_CI
    R"re(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)re" RE_E;
constexpr std::string_view kOneDigit = R"re(\p{N})re";
constexpr std::string_view kOneToThreeDigits = R"re(\p{N}{1,3})re";
constexpr std::string_view kDigitRun = R"re(\p{N}+)re";
constexpr std::string_view kThreeAsciiDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kFalconPunctuation = R"re([\p{P}\$\+<=>\^~\|`]+)re";
constexpr std::string_view kDefaultPunctuation = R"re([\p{P}\$\+<=>\^~\|]+)re";
constexpr std::string_view kLineBreak = R"re([\r\n])re";
// Space at the end of the text. The look-behind keeps a long run of spaces elsewhere linear.
constexpr std::string_view kSpaceAtEnd = R"re((?<!\s)\s+\z)re";
constexpr std::string_view kSpaceAndLetters = R"re(\s?\p{L}+)re";
constexpr std::string_view kSpaceAndPunctuation = R"re(\s?\p{P}+)re";
constexpr std::string_view kCjk = R"re([\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+)re";
constexpr std::string_view kDeepseekPunctuation =
    R"re(\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+)re";
constexpr std::string_view kDeepseekLetters =
    R"re(\s?[)re"
    R"re(\u0041-\u005A\u0061-\u007A\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA)re"
    R"re(\u01BC-\u01BF\u01C4-\u0293\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D)re"
    R"re(\u037F\u0386\u0388-\u038A\u038C\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481)re"
    R"re(\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5\u13F8-\u13FD\u1C90-\u1CBA)re"
    R"re(\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15\u1F18-\u1F1D)re"
    R"re(\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D)re"
    R"re(\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3)re"
    R"re(\u1FD6-\u1FDB\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113)re"
    R"re(\u2115\u2119-\u211D\u2124\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139)re"
    R"re(\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184\u2C00-\u2C7B\u2C7E-\u2CE4)re"
    R"re(\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F\uA771-\uA787)re"
    R"re(\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A)re"
    R"re(\x{10400}-\x{1044F}\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2})re"
    R"re(\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943})re"
    R"re(]+)re";
constexpr std::string_view kCjkAndKana = R"re([\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+)re";
constexpr std::string_view kDeepseekV3 =
    R"re([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)re"
    R"re([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)re" RE_E;
constexpr std::string_view kBloom =
    R"re( ?[^(\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+)re";
constexpr std::string_view kLines = R"re([^\n]+|\n+)re";

#undef RE_CI
#undef RE_X
#undef RE_U
#undef RE_W
#undef RE_UH
#undef RE_WH
#undef RE_E

constexpr std::size_t kMaxSteps = 6;

struct Rule {
  std::string_view name;
  std::array<std::string_view, kMaxSteps> steps;  // empty ones at the end do not count
  SplitFlags flags;
};

constexpr SplitFlags kNone{};
constexpr SplitFlags kClean{.clean_spaces = true};

constexpr Rule kRules[] = {
    {"gpt-2", {kGpt2}, kClean},
    {"starcoder", {kOneDigit, kGpt2}, kClean},
    {"smollm", {kOneDigit, kGpt2}, kNone},
    {"falcon", {kFalconPunctuation, kGpt2, kThreeAsciiDigits}, kClean},
    {"default", {kDefaultPunctuation, kGpt2, kDigitRun, kThreeAsciiDigits}, kClean},
    {"llama-bpe", {kDigitsThree}, {.ignore_merges = true, .add_bos = true, .clean_spaces = true}},
    {"dbrx", {kDigitsThree}, kClean},
    {"chatglm-bpe", {kDigitsThree}, {.clean_spaces = true, .no_bos = true}},
    {"glm4", {kDigitsThree}, {.ignore_merges = true, .clean_spaces = true, .no_bos = true}},
    {"qwen2", {kDigitsOne}, kNone},
    {"megrez", {kDigitsOne}, kClean},
    {"qwen35", {kQwen35}, kNone},
    {"deepseek-llm",
     {kLineBreak, kDeepseekLetters, kDeepseekPunctuation, kSpaceAtEnd, kCjk, kDigitRun},
     kNone},
    {"deepseek-coder",
     {kLineBreak, kSpaceAndLetters, kSpaceAndPunctuation, kCjk, kOneDigit},
     kNone},
    {"deepseek-v3", {kOneToThreeDigits, kCjkAndKana, kDeepseekV3}, kNone},
    {"bloom", {kBloom}, kClean},
    {"viking", {kBloom, kOneDigit}, kNone},
    {"tekken", {kTekken}, {.ignore_merges = true, .add_bos = true}},
    {"gpt-4o", {kO200k}, kNone},
    {"kimi-k2", {kKimi}, kNone},
    {"gemma4", {kLines}, {.add_bos = true, .clean_spaces = true}},
};

struct Alias {
  std::string_view name;
  std::string_view rule;
};

constexpr Alias kAliases[] = {
    {"phi-2", "gpt-2"},
    {"mpt", "gpt-2"},
    {"olmo", "gpt-2"},
    {"exaone4", "gpt-2"},
    {"gigachat", "gpt-2"},
    {"modern-bert", "gpt-2"},
    {"mellum", "gpt-2"},
    {"a.x-4.0", "gpt-2"},
    {"refact", "starcoder"},
    {"exaone", "starcoder"},
    {"minerva-7b", "starcoder"},
    {"codeshell", "starcoder"},
    {"mellum2", "starcoder"},
    {"command-r", "smollm"},
    {"llama3", "llama-bpe"},
    {"llama-v3", "llama-bpe"},
    {"falcon3", "llama-bpe"},
    {"falcon-h1", "llama-bpe"},
    {"pixtral", "llama-bpe"},
    {"lfm2", "llama-bpe"},
    {"midm-2.0", "llama-bpe"},
    {"smaug-bpe", "dbrx"},
    {"glm5", "glm4"},
    {"deepseek-r1-qwen", "qwen2"},
    {"kormo", "qwen2"},
    {"hunyuan", "qwen2"},
    {"solar-open", "qwen2"},
    {"grok-2", "qwen2"},
    {"stablelm2", "megrez"},
    {"hunyuan-dense", "deepseek-v3"},
    {"joyai-llm", "deepseek-v3"},
    {"llama4", "gpt-4o"},
    {"kanana2", "gpt-4o"},
    {"minimax-m2", "gpt-4o"},
};

}  // namespace

Result<SplitRule> find_split_rule(std::string_view name) {
  std::string_view wanted = name;
  for (const Alias& alias : kAliases) {
    if (alias.name == name) {
      wanted = alias.rule;
    }
  }
  for (const Rule& rule : kRules) {
    if (rule.name != wanted) {
      continue;
    }
    SplitRule found{.patterns = {}, .flags = rule.flags};
    for (const std::string_view step : rule.steps) {
      if (!step.empty()) {
        found.patterns.push_back(step);
      }
    }
    return found;
  }
  return Status{Code::kUnsupported, "pre-tokenizer '" + std::string(name) + "' is not known"};
}

std::vector<std::string_view> split_rule_names() {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) {
    names.push_back(rule.name);
  }
  for (const Alias& alias : kAliases) {
    names.push_back(alias.name);
  }
  return names;
}

}  // namespace plumb
