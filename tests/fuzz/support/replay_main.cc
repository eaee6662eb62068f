// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of the named folders and over cut and damaged forms of each, so
// that a compiler without libFuzzer tests it too.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

int run(const Bytes& input) {
  LLVMFuzzerTestOneInput(input.data(), input.size());
  return 1;
}

// Every input cut at up to 64 places, and with up to 64 bytes flipped.
int run_damaged(const Bytes& input) {
  constexpr std::size_t kForms = 64;
  const std::size_t step = std::max<std::size_t>(1, input.size() / kForms);
  int num_runs = 0;
  for (std::size_t at = 0; at < input.size(); at += step) {
    num_runs += run(Bytes(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(at)));
    Bytes flipped = input;
    flipped[at] ^= static_cast<std::uint8_t>(1U << (at % 8));
    num_runs += run(flipped);
  }
  return num_runs;
}

}  // namespace

int main(int num_arguments, char** arguments) {
  int num_runs = run({}) + run({0}) + run(Bytes(4096, 0xFF)) + run(Bytes(4096, '['));
  for (int i = 1; i < num_arguments; ++i) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i], missing)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const Bytes input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      num_runs += run(input) + run_damaged(input);
    }
  }
  std::printf("%d inputs\n", num_runs);
  return 0;
}
