// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>

#include "api/error.h"

namespace plumb {

/// The request that a reader has made of a body which it must accept.
template <class Request>
Request accepted_request(std::variant<Request, ApiError> result, const std::string& body) {
  const auto* error = std::get_if<ApiError>(&result);
  EXPECT_EQ(error == nullptr ? "" : error->message, "") << body;
  return error == nullptr ? std::get<Request>(std::move(result)) : Request();
}

/// "accepted", or code and field of the error.
template <class Request>
std::string verdict_of(const std::variant<Request, ApiError>& result) {
  const auto* error = std::get_if<ApiError>(&result);
  return error == nullptr ? "accepted" : error->code + " " + error->param;
}

}  // namespace plumb
