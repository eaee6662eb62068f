// SPDX-License-Identifier: Apache-2.0
#include "server/route_hint.h"

#include <gtest/gtest.h>
#include <vector>

namespace plumb {
namespace {

const std::vector<std::string>& routes() {
  static const std::vector<std::string> paths{"/v1/chat/completions",
                                              "/v1/completions",
                                              "/v1/responses/{id}",
                                              "/v1/embeddings",
                                              "/v1/messages",
                                              "/v1/models/{id}",
                                              "/v1/messages/count_tokens",
                                              "/v1/models",
                                              "/generate",
                                              "/api/chat",
                                              "/api/generate",
                                              "/api/embeddings",
                                              "/health",
                                              "/v1/responses"};
  return paths;
}

// What is suggested; empty if nothing is.
std::string suggestion(const std::string& path) {
  const std::string text = unknown_route("POST", path, "", routes());
  const std::string begin = "no route POST " + path + "; did you mean ";
  const std::string end = "? (see /openapi.json)";
  if (text == "no route POST " + path + "; see /openapi.json") {
    return "";
  }
  EXPECT_TRUE(text.starts_with(begin) && text.ends_with(end)) << text;
  return text.substr(begin.size(), text.size() - begin.size() - end.size());
}

TEST(RouteHint, a_prefix_that_is_missing_doubled_or_another_is_set_right) {
  EXPECT_EQ(suggestion("/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/chat/completions/"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/v1/v1/messages"), "/v1/messages");
  EXPECT_EQ(suggestion("/v1/v1/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/v1//chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/v1/api/chat"), "/api/chat");
  EXPECT_EQ(suggestion("/api/v1/embeddings"), "/v1/embeddings");
  EXPECT_EQ(suggestion("/openai/v1/models/tiny"), "/v1/models/tiny");
  EXPECT_EQ(suggestion("/models/tiny"), "/v1/models/tiny");
  EXPECT_EQ(suggestion("/v1/generate"), "/generate");
  EXPECT_EQ(suggestion("/api/health"), "/health");
}

TEST(RouteHint, what_is_written_nearly_so_or_in_part_is_completed) {
  EXPECT_EQ(suggestion("/v1/chat"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/v1/chat/completion"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/v1/Chat/Completions"), "/v1/chat/completions");
  EXPECT_EQ(suggestion("/v1/embedings"), "/v1/embeddings");
  EXPECT_EQ(suggestion("/v1/edits"), "");
  EXPECT_EQ(suggestion("/v1"), "");
  EXPECT_EQ(suggestion("/"), "");
}

TEST(RouteHint, what_openai_offers_and_this_server_does_not_is_said) {
  for (const char* path : {"/v1/audio/speech", "/audio/speech", "/v1/v1/audio/speech"}) {
    EXPECT_EQ(unknown_route("POST", path, "", routes()),
              std::string("no route POST ") + path +
                  ": /v1/audio is not offered by this server; see /openapi.json");
  }
}

TEST(RouteHint, a_root_path_stands_in_front_of_the_suggestion) {
  EXPECT_EQ(unknown_route("GET", "/v1/models", "/llm", routes()),
            "no route GET /v1/models; did you mean /llm/v1/models? (see /llm/openapi.json)");
  EXPECT_EQ(unknown_route("GET", "/llm/models", "/llm", routes()),
            "no route GET /llm/models; did you mean /llm/v1/models? (see /llm/openapi.json)");
  EXPECT_EQ(unknown_route("GET", "/llm", "/llm", routes()),
            "no route GET /llm; see /llm/openapi.json");
}

TEST(RouteHint, a_long_path_is_cut) {
  EXPECT_EQ(
      unknown_route(std::string(40, 'M'), "/" + std::string(100'000, 'a'), "", routes()),
      "no route " + std::string(16, 'M') + " /" + std::string(127, 'a') + "; see /openapi.json");
}

}  // namespace
}  // namespace plumb
