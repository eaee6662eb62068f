// SPDX-License-Identifier: Apache-2.0
// Memory that is given back and taken again, and weights that are replaced, while a server runs.
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include "e2e/served_scene.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

constexpr const char* kOperator = "sk-admin-0123456789";
constexpr const char* kRelease = "/release_memory_occupation";
constexpr const char* kResume = "/resume_memory_occupation";
constexpr const char* kUpdate = "/update_weights_from_disk";
constexpr const char* kAsk =
    R"({"prompt":"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz","temperature":0,)"
    R"("max_tokens":8,"ignore_eos":true})";

const std::string kOfTheSameModel = "other weights must be of the same model: ";

class ServedMemory : public testing::Test {
 protected:
  ServedMemory() {
    std::filesystem::create_directories(root_ + "/in");
    EXPECT_TRUE(write_file_atomic(root_ + "/keys", std::string(kOperator) + "\n").ok());
    EXPECT_EQ(::chmod((root_ + "/keys").c_str(), 0600), 0);
    ServerOptions options;
    options.admin_key_file = root_ + "/keys";
    options.weights_root = root_ + "/in";
    scene_ = std::make_unique<ServedScene>(options);
  }

  ~ServedMemory() override {
    scene_.reset();
    std::filesystem::remove_all(root_);
  }

  HttpResponse send(const std::string& method, const std::string& path,
                    const std::string& body = "") {
    Headers headers;
    headers.add("authorization", "Bearer " + std::string(kOperator));
    return scene_->send(method, path, body, std::move(headers));
  }

  Json ok(const std::string& path, const std::string& body) {
    const HttpResponse response = send("POST", path, body);
    EXPECT_EQ(response.status, 200) << path << " " << response.body;
    return parse_json(response.body).value();
  }

  Json refused(const std::string& path, const std::string& body, int status) {
    const HttpResponse response = send("POST", path, body);
    EXPECT_EQ(response.status, status) << path << " " << response.body;
    return at(parse_json(response.body).value(), {"error"});
  }

  std::string refusal(const std::string& path, const std::string& body, int status) {
    return text_at(refused(path, body, status), {"message"});
  }

  // Of a file that is not taken.
  std::string file_refusal(const std::string& path) {
    const Json error = refused(kUpdate, R"({"model_path":")" + path + "\"}", 400);
    EXPECT_EQ(text_at(error, {"param"}), "model_path") << path;
    return text_at(error, {"message"});
  }

  std::string answer() { return text_at(ok("/v1/completions", kAsk), {"choices", 0, "text"}); }

  std::int64_t cached() {
    return int_at(ok("/v1/completions", kAsk), {"usage", "prompt_tokens_details", "cached_tokens"});
  }

  int status_of(const char* path) { return send("GET", path).status; }

  std::string weight_version() {
    return text_at(parse_json(send("GET", "/model_info").body).value(), {"weight_version"});
  }

  // Another model of the same sizes, or of others.
  void write_model(const std::string& name, std::uint64_t seed, const char* preset = "tiny-llama") {
    SynthesisSpec spec = *synthesis_preset(preset);
    spec.seed = seed;
    EXPECT_TRUE(synthesize_gguf(spec, root_ + "/in/" + name).ok());
  }

  static std::int64_t resident_pages() {
    std::ifstream statm("/proc/self/statm");
    std::int64_t size = 0;
    std::int64_t resident = 0;
    statm >> size >> resident;
    return resident;
  }

  const std::string root_ = std::filesystem::canonical(testing::TempDir()).string() +
                            "/plumb_memory_" + std::to_string(::getpid());
  std::unique_ptr<ServedScene> scene_;
};

TEST_F(ServedMemory, answers_are_the_same_after_all_was_released_and_resumed) {
  const std::string before = answer();
  EXPECT_GT(cached(), 0);
  const Json released = ok(kRelease, "{}");
  EXPECT_EQ(to_text(at(released, {"tags"})), R"(["kv_cache","weights","cuda_graph"])");
  EXPECT_EQ(at(released, {"released"}), at(released, {"tags"}));
  const std::string refused = refusal("/v1/completions", kAsk, 503);
  EXPECT_NE(refused.find("kv_cache, weights, cuda_graph"), std::string::npos) << refused;
  EXPECT_EQ(status_of("/health"), 200);
  EXPECT_EQ(status_of("/ready"), 503);
  EXPECT_EQ(status_of("/server_info"), 200);
  EXPECT_EQ(status_of("/metrics"), 200);
  const Json again = ok(kRelease, "{}");
  EXPECT_EQ(text_at(again, {"message"}), "nothing was to be released");
  EXPECT_EQ(to_text(at(again, {"tags"})), "[]");
  const Json resumed = ok(kResume, "{}");
  EXPECT_EQ(to_text(at(resumed, {"released"})), "[]");
  EXPECT_EQ(text_at(ok(kResume, "{}"), {"message"}), "nothing was to be resumed");
  EXPECT_EQ(status_of("/ready"), 200);
  const Json after = ok("/v1/completions", kAsk);
  EXPECT_EQ(int_at(after, {"usage", "prompt_tokens_details", "cached_tokens"}), 0);
  EXPECT_EQ(text_at(after, {"choices", 0, "text"}), before);
  EXPECT_EQ(weight_version(), "default");
}

TEST_F(ServedMemory, weights_alone_leave_the_cache_as_it_was) {
  const std::string before = answer();
  const std::int64_t num_cached = cached();
  ok(kRelease, R"({"tags":["weights"]})");
  EXPECT_EQ(to_text(at(ok(kRelease, R"({"tags":["cuda_graph","weights"]})"), {"tags"})),
            R"(["cuda_graph"])");
  ok(kResume, R"({"tags":["weights"]})");
  EXPECT_NE(refusal("/v1/completions", kAsk, 503).find("cuda_graph"), std::string::npos);
  ok(kResume, R"({"tags":["cuda_graph"]})");
  EXPECT_EQ(cached(), num_cached);
  EXPECT_EQ(answer(), before);
}

TEST_F(ServedMemory, the_pages_of_the_cache_go_back_to_the_system) {
  std::string batch;
  for (int i = 0; i < 64; ++i) {
    batch += (i > 0 ? ",\"" : "\"") + std::string(1200, static_cast<char>('a' + i % 26)) +
             std::to_string(i) + "\"";
  }
  ok("/v1/completions", "{\"max_tokens\":1,\"prompt\":[" + batch + "]}");
  const Json info = parse_json(send("GET", "/server_info").body).value();
  const std::int64_t before = resident_pages();
  ok(kRelease, R"({"tags":["kv_cache"]})");
  const std::int64_t fell = (before - resident_pages()) * ::sysconf(_SC_PAGESIZE);
  EXPECT_GT(fell, int_at(info, {"memory", "kv_bytes"}) / 2);
}

TEST_F(ServedMemory, what_is_in_use_is_not_released) {
  RawClient client(scene_->server().port());
  const std::string body =
      R"({"text":"abc","stream":true,"sampling_params":{"ignore_eos":true,"max_new_tokens":2000}})";
  ASSERT_TRUE(client.send(
      "POST /generate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + std::string(kOperator) +
      "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
  client.read_until("output_ids");
  ok("/pause_generation", R"({"mode":"in_place"})");
  for (const char* path : {kRelease, kUpdate}) {
    write_model("b.gguf", 2);
    const Json error = refused(path, path == kUpdate ? R"({"model_path":"b.gguf"})" : "{}", 400);
    EXPECT_EQ(at(error, {"param"}), Json()) << "no other file would be taken";
    const std::string message = text_at(error, {"message"});
    for (const char* part : {"1 requests run, 0 wait", "wait until they have ended",
                             R"(/abort_request {"abort_all": true})", "/pause_generation"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  ok("/continue_generation", "{}");
  client.read_until("[DONE]");
}

TEST_F(ServedMemory, an_unknown_tag_or_none_is_refused) {
  EXPECT_NE(refusal(kRelease, R"({"tags":["moon"]})", 400).find("moon"), std::string::npos);
  EXPECT_NE(refusal(kResume, R"({"tags":[]})", 400).find("empty"), std::string::npos);
  EXPECT_EQ(status_of("/ready"), 200);
  EXPECT_EQ(scene_->send("POST", kRelease, "{}").status, 401);
  ServedScene open;
  EXPECT_EQ(open.send("POST", kRelease, "{}").status, 403);
}

TEST_F(ServedMemory, a_server_whose_memory_is_released_drains) {
  ok(kRelease, "{}");
  scene_->server().drain();
  scene_->destroy_server();
}

TEST_F(ServedMemory, other_weights_answer_as_a_server_of_their_own) {
  const std::string before = answer();
  EXPECT_GT(cached(), 0);
  write_model("b.gguf", 2);
  for (const bool flush : {true, false}) {
    const Json done = ok(kUpdate, std::string(R"({"model_path":"b.gguf","flush_cache":)") +
                                      (flush ? "true}" : "false}"));
    EXPECT_EQ(text_at(done, {"weight_version"}), flush ? "1" : "2");
    EXPECT_EQ(cached(), 0) << "of the former weights";
    EXPECT_GT(cached(), 0) << "of these";
    EXPECT_NE(answer(), before);
  }
  EXPECT_EQ(weight_version(), "2");
  EXPECT_EQ(text_at(parse_json(send("GET", "/server_info").body).value(), {"weight_version"}), "2");
  const std::string other = answer();
  ok(kRelease, "{}");
  ok(kResume, "{}");
  EXPECT_EQ(answer(), other) << "the file that was taken last";
  write_model("a.gguf", synthesis_preset("tiny-llama")->seed);
  ok(kUpdate, R"({"model_path":"a.gguf"})");
  EXPECT_EQ(cached(), 0);
  EXPECT_EQ(answer(), before);
}

// Its numbers are written in decimal, and none of its layers has a window: neither is a difference,
// but the order of its rotated pairs is.
TEST_F(ServedMemory, a_folder_is_refused_for_what_differs_and_not_for_how_it_is_written) {
  const SynthesisSpec spec = *synthesis_preset("tiny-llama");
  ASSERT_TRUE(synthesize_folder(spec, root_ + "/in/folder").ok());
  EXPECT_EQ(file_refusal("folder"), kOfTheSameModel + "rope.style is 1, expected 0");
}

TEST_F(ServedMemory, weights_that_do_not_fit_leave_the_former_in_use) {
  const std::string before = answer();
  write_model("wide.gguf", 1, "tiny-qwen3");
  EXPECT_EQ(file_refusal("wide.gguf"), kOfTheSameModel + "family is qwen3, expected llama");
  EXPECT_TRUE(write_file_atomic(root_ + "/in/broken.gguf", "GGUF").ok());
  const std::string broken = file_refusal("broken.gguf");
  EXPECT_EQ(broken.find(root_), std::string::npos) << broken;
  std::filesystem::create_symlink("../keys", root_ + "/in/out");
  for (const char* path : {"../keys", "out", "missing", "/etc/hostname"}) {
    const std::string message = file_refusal(path);
    EXPECT_NE(message.find("--weights-root"), std::string::npos) << message;
  }
  ok(kRelease, R"({"tags":["weights"]})");
  write_model("b.gguf", 2);
  const Json released = refused(kUpdate, R"({"model_path":"b.gguf"})", 400);
  EXPECT_NE(text_at(released, {"message"}).find("released"), std::string::npos);
  EXPECT_EQ(at(released, {"param"}), Json());
  ok(kResume, "{}");
  EXPECT_EQ(answer(), before);
  EXPECT_EQ(weight_version(), "default");
  ServedScene without;
  EXPECT_EQ(without.send("POST", kUpdate, R"({"model_path":"b.gguf"})").status, 403);
}

TEST_F(ServedMemory, weights_of_another_size_or_vocabulary_are_refused_with_both_values) {
  const std::string before = answer();
  const auto write = [this](const std::string& name, const auto& change) {
    SynthesisSpec spec = *synthesis_preset("tiny-llama");
    change(spec);
    EXPECT_TRUE(synthesize_gguf(spec, root_ + "/in/" + name).ok());
  };
  const SynthesisSpec served = *synthesis_preset("tiny-llama");
  write("words.gguf", [](SynthesisSpec& spec) { spec.vocab_size += 32; });
  EXPECT_EQ(file_refusal("words.gguf"), kOfTheSameModel + "vocab_size is " +
                                            std::to_string(served.vocab_size + 32) + ", expected " +
                                            std::to_string(served.vocab_size));
  write("deep.gguf", [](SynthesisSpec& spec) { spec.num_layers += 1; });
  EXPECT_EQ(file_refusal("deep.gguf"), kOfTheSameModel + "num_layers is " +
                                           std::to_string(served.num_layers + 1) + ", expected " +
                                           std::to_string(served.num_layers));
  // As many tokens, of which one is another.
  write_model("b.gguf", 2);
  std::string bytes = read_file(root_ + "/in/b.gguf").value();
  const std::string token = std::string("\x0c\0\0\0\0\0\0\0", 8) + "<|im_start|>";
  const std::size_t found = bytes.find(token);
  ASSERT_NE(found, std::string::npos);
  bytes.replace(found, token.size(), token.substr(0, 8) + "<|IM_START|>");
  ASSERT_TRUE(write_file_atomic(root_ + "/in/b.gguf", bytes).ok());
  const std::string other = file_refusal("b.gguf");
  EXPECT_TRUE(other.starts_with(kOfTheSameModel + "token ")) << other;
  EXPECT_TRUE(other.ends_with(R"( is "<|IM_START|>", expected "<|im_start|>")")) << other;
  EXPECT_EQ(answer(), before);
  EXPECT_EQ(weight_version(), "default");
}

}  // namespace
}  // namespace plumb
