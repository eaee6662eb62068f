// SPDX-License-Identifier: Apache-2.0
#include "server/web_routes.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "web/assets.h"

namespace plumb {
namespace {

constexpr std::string_view kPage = "index.html";

// Nothing inline, nothing from elsewhere, no markup made of text, no frame around it.
constexpr const char* kContentSecurityPolicy =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

// Weak comparison (RFC 9110, section 13.1.2).
bool names_tag(std::string_view if_none_match, std::string_view tag) {
  for (std::string_view item : split(if_none_match, ',')) {
    item = trim(item);
    if (item.starts_with("W/")) {
      item.remove_prefix(2);
    }
    if (item == "*" || item == tag) {
      return true;
    }
  }
  return false;
}

void send_asset(Transaction transaction, const WebAsset& asset) {
  const std::string tag = '"' + std::string(asset.sha256) + '"';
  std::vector<HeaderField>& headers = transaction.extra_headers;
  headers.push_back({"etag", tag});
  headers.push_back({"cache-control", "no-cache"});
  headers.push_back({"content-security-policy", kContentSecurityPolicy});
  headers.push_back({"x-content-type-options", "nosniff"});
  headers.push_back({"referrer-policy", "no-referrer"});
  headers.push_back({"cross-origin-opener-policy", "same-origin"});
  const bool is_known =
      names_tag(transaction.request.headers.find("if-none-match").value_or(""), tag);
  transaction.send(is_known ? 304 : 200, std::string(asset.content_type).c_str(),
                   is_known ? std::string() : std::string(asset.content));
}

}  // namespace

void add_web_routes(const RouteContext& context) {
  if (!context.options.web) {
    return;
  }
  const WebAsset* page = find_web_asset(kPage);
  PLUMB_CHECK(page != nullptr, "the program holds no " + std::string(kPage));
  context.router.add(
      {"GET", "/", RouteClass::kPublic,
       [&context, page](Transaction transaction, const std::string&) {
         if (transaction.request.path.ends_with('/')) {
           send_asset(std::move(transaction), *page);
           return;
         }
         // The page names its files relative to the folder that it is in.
         transaction.extra_headers.push_back({"location", context.options.root_path + "/"});
         transaction.send(308, "text/plain", "");
       }});
  context.router.add({"GET", "/web/{id}", RouteClass::kPublic,
                      [](Transaction transaction, const std::string& name) {
                        const WebAsset* asset = name != kPage ? find_web_asset(name) : nullptr;
                        if (asset != nullptr) {
                          send_asset(std::move(transaction), *asset);
                        } else {
                          transaction.send_error(
                              ApiError::not_found("no such file of the web console"));
                        }
                      }});
}

}  // namespace plumb
