// SPDX-License-Identifier: Apache-2.0
#include "e2e/served_scene.h"
#include "web/assets.h"

namespace plumb {
namespace {

std::string header(const HttpResponse& response, const char* name) {
  return std::string(response.headers.find(name).value_or("(none)"));
}

std::string path_of(const WebAsset& asset) {
  return asset.name == "index.html" ? "/" : "/web/" + std::string(asset.name);
}

TEST(ServedWeb, every_file_has_its_type_tag_and_policy) {
  ServedScene scene;
  for (const WebAsset& asset : web_assets()) {
    const HttpResponse response = scene.send("GET", path_of(asset));
    EXPECT_EQ(response.status, 200) << asset.name;
    EXPECT_TRUE(response.body == asset.content) << asset.name;
    EXPECT_EQ(header(response, "content-type"), asset.content_type);
    EXPECT_EQ(header(response, "etag"), '"' + std::string(asset.sha256) + '"');
    EXPECT_EQ(header(response, "cache-control"), "no-cache");
    EXPECT_EQ(header(response, "x-content-type-options"), "nosniff");
    EXPECT_EQ(header(response, "referrer-policy"), "no-referrer");
    const std::string policy = header(response, "content-security-policy");
    EXPECT_TRUE(policy.starts_with("default-src 'self';")) << policy;
    EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
    EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos) << policy;
  }
}

TEST(ServedWeb, a_known_tag_is_answered_without_the_file) {
  ServedScene scene;
  const std::string tag = header(scene.send("GET", "/"), "etag");
  for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    const HttpResponse response = scene.send("GET", "/", "", {{"if-none-match", known}});
    EXPECT_EQ(response.status, 304) << known;
    EXPECT_EQ(response.body, "");
    EXPECT_EQ(header(response, "etag"), tag);
  }
  for (const std::string& other : {std::string("\"other\""), tag.substr(1), std::string("**")}) {
    EXPECT_EQ(scene.send("GET", "/", "", {{"if-none-match", other}}).status, 200) << other;
  }
}

TEST(ServedWeb, head_says_what_get_would_and_other_methods_are_refused) {
  ServedScene scene;
  const HttpResponse head = scene.send("HEAD", "/");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_EQ(header(head, "content-length"),
            std::to_string(find_web_asset("index.html")->content.size()));
  for (const char* path : {"/", "/web/chat.js"}) {
    for (const char* method : {"POST", "PUT", "DELETE"}) {
      const HttpResponse response = scene.send(method, path, "{}");
      EXPECT_EQ(response.status, 405) << method << " " << path;
      EXPECT_EQ(header(response, "allow"), "GET");
    }
  }
}

TEST(ServedWeb, nothing_but_the_files_is_found) {
  ServedScene scene;
  for (const char* path :
       {"/web", "/web/", "/web/nothing.js", "/web/index.html", "/web/..%2fassets.h",
        "/web/%2e%2e/web/chat.js", "/index.html", "/web/static/chat.js"}) {
    const HttpResponse response = scene.send("GET", path);
    EXPECT_EQ(response.status, 404) << path;
    EXPECT_EQ(header(response, "content-type"), "application/json") << path;
  }
}

TEST(ServedWeb, the_console_needs_no_key_and_its_calls_do) {
  ServerOptions options;
  options.api_key = "sk-normal-0123456789";
  options.auth_metrics = true;
  ServedScene scene(options);
  EXPECT_EQ(scene.send("GET", "/").status, 200);
  EXPECT_EQ(scene.send("GET", "/web/chat.js").status, 200);
  for (const char* path : {"/metrics", "/v1/models"}) {
    EXPECT_EQ(scene.send("GET", path).status, 401) << path;
    EXPECT_EQ(scene.send("GET", path, "", {{"authorization", "Bearer " + options.api_key}}).status,
              200)
        << path;
  }
}

TEST(ServedWeb, it_can_be_left_out_and_moves_with_the_root_path) {
  ServerOptions options;
  options.web = false;
  ServedScene without(options);
  EXPECT_EQ(without.send("GET", "/").status, 404);
  EXPECT_EQ(without.send("GET", "/web/chat.js").status, 404);
  options.web = true;
  options.root_path = "/llm";
  ServedScene moved(options);
  EXPECT_EQ(moved.send("GET", "/llm/").status, 200);
  const HttpResponse folder = moved.send("GET", "/llm");
  EXPECT_EQ(folder.status, 308);
  EXPECT_EQ(header(folder, "location"), "/llm/");
  EXPECT_EQ(moved.send("GET", "/llm/web/chat.js").status, 200);
  EXPECT_EQ(moved.send("GET", "/").status, 404);
}

}  // namespace
}  // namespace plumb
