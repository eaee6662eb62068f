// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/thread.h"
#include "net/http_client.h"
#include "net/tcp_transport.h"
#include "support/raw_client.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

/// Answers through a function of the test.
class FunctionHandler final : public HttpHandler {
 public:
  using Function = std::function<void(HttpRequest, ResponseWriter)>;

  explicit FunctionHandler(Function function) : function_(std::move(function)) {}

  void handle(HttpRequest request, ResponseWriter writer) override {
    function_(std::move(request), std::move(writer));
  }

  std::optional<HttpResponse> refuse(const HttpRequest& head) override {
    return head.headers.find("x-refuse").has_value()
               ? std::optional(HttpResponse{401, {}, head.method + " " + head.target})
               : std::nullopt;
  }

 private:
  Function function_;
};

void echo(const HttpRequest& request, ResponseWriter writer) {
  writer.send({200,
               {{"content-type", "text/plain"}},
               request.method + " " + request.path + "?" + request.query + " " + request.body});
}

std::unique_ptr<HttpServer> serve(HttpHandler& handler, HttpServerOptions options = {}) {
  Result<std::unique_ptr<HttpServer>> server = HttpServer::create(std::move(options), handler);
  EXPECT_TRUE(server.ok()) << server.status().message();
  return std::move(server).value();
}

std::string body_of(const std::string& response) {
  const std::size_t at = response.find("\r\n\r\n");
  return at == std::string::npos ? "" : response.substr(at + 4);
}

std::string status_line(const std::string& response) {
  return response.substr(0, response.find("\r\n"));
}

TEST(HttpServer, one_connection_serves_many_requests) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client.send("GET /n" + std::to_string(i) + "?q=1 HTTP/1.1\r\nhost: x\r\n\r\n"));
    const std::string head = client.read_until("\r\n\r\n");
    ASSERT_EQ(status_line(head), "HTTP/1.1 200 OK");
    ASSERT_EQ(head.find("connection: close"), std::string::npos);
    const std::string body = "GET /n" + std::to_string(i) + "?q=1 ";
    ASSERT_EQ(client.read_until("?q=1 "), body);
  }
  EXPECT_EQ(server->num_connections(), 1);
}

TEST(HttpServer, head_has_length_and_date_but_no_body) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("HEAD /a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_NE(response.find("content-length: 8\r\n"), std::string::npos) << response;
  EXPECT_NE(response.find("date: "), std::string::npos);
  EXPECT_NE(response.find(" GMT\r\n"), std::string::npos);
  EXPECT_EQ(body_of(response), "");
  EXPECT_TRUE(client.ended_in_order());
}

TEST(HttpServer, pipelined_requests_are_answered_in_order) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  std::string requests;
  for (int i = 0; i < 500; ++i) {
    requests +=
        "POST /" + std::to_string(i) + " HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab";
  }
  requests += "GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
  client.send(requests);
  const std::string all = client.read_all();
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = all.find("POST /" + std::to_string(i) + "? ab", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_NE(all.find("GET /last? ", at), std::string::npos);
}

TEST(HttpServer, chunked_body_is_joined) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send(
      "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n");
  for (const char* piece :
       {"4\r", "\nab", "cd\r\n3;ext=1\r\nefg\r\n", "0\r\ntrailer: x\r\n", "\r\n"}) {
    client.send(piece);
  }
  EXPECT_EQ(body_of(client.read_all()), "POST /c? abcdefg");
}

TEST(HttpServer, expect_continue_is_answered_before_the_body) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send(
      "POST /e HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 3\r\n"
      "connection: close\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("xyz");
  EXPECT_EQ(body_of(client.read_all()), "POST /e? xyz");
}

TEST(HttpServer, http_10_is_answered_and_closed) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("GET /old HTTP/1.0\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_NE(response.find("connection: close\r\n"), std::string::npos);
  EXPECT_EQ(body_of(response), "GET /old? ");
}

TEST(HttpServer, error_bodies_come_from_the_callback) {
  FunctionHandler handler(echo);
  HttpServerOptions options;
  options.error_body = [](int status, const HttpRequest* head) {
    return ErrorBody{"application/json",
                     "{\"status\":" + std::to_string(status) +
                         (head == nullptr ? "" : ",\"path\":\"" + head->path + "\"") + "}",
                     {{"x-id", "7"}}};
  };
  options.limits.max_body_bytes = 4;
  const auto server = serve(handler, std::move(options));
  RawClient client(server->port());
  client.send("nonsense\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_EQ(status_line(response), "HTTP/1.1 400 Bad Request");
  EXPECT_NE(response.find("content-type: application/json\r\n"), std::string::npos);
  EXPECT_NE(response.find("x-id: 7\r\n"), std::string::npos);
  EXPECT_EQ(body_of(response), "{\"status\":400}");
  RawClient with_head(server->port());
  with_head.send("POST /big HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n");
  EXPECT_EQ(body_of(with_head.read_all()), R"({"status":413,"path":"/big"})");
}

TEST(HttpServer, a_body_of_a_refused_head_is_not_waited_for) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send(
      "POST /p HTTP/1.1\r\nhost: x\r\nx-refuse: 1\r\ncontent-length: 1000\r\n\r\nonly the start");
  const std::string response = client.read_all();
  EXPECT_EQ(status_line(response), "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(body_of(response), "POST /p");
}

TEST(HttpServer, a_declared_body_above_the_limit_is_refused_before_it_is_read) {
  FunctionHandler handler(echo);
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: " + std::to_string(33 << 20) +
              "\r\n\r\nonly the start");
  const std::string response = client.read_all();
  EXPECT_EQ(status_line(response), "HTTP/1.1 413 Content Too Large");
  EXPECT_NE(response.find("connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(client.ended_in_order());
}

TEST(HttpServer, a_client_that_sends_all_of_a_refused_body_still_reads_the_answer) {
  FunctionHandler handler(echo);
  HttpServerOptions options;
  options.limits.max_body_bytes = 1000;
  const auto server = serve(handler, std::move(options));
  RawClient client(server->port());
  client.send("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n\r\n");
  EXPECT_TRUE(client.send(std::string(4000000, 'x')));
  EXPECT_EQ(status_line(client.read_all()), "HTTP/1.1 413 Content Too Large");
}

TEST(HttpServer, a_taken_port_is_named) {
  FunctionHandler handler(echo);
  const auto first = serve(handler);
  HttpServerOptions options;
  options.port = first->port();
  const auto second = HttpServer::create(std::move(options), handler);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_EQ(second.status().message(),
            "http server: cannot listen on 127.0.0.1:" + std::to_string(first->port()) +
                ": the port is taken; choose another port or stop the process that holds it");
}

TEST(HttpServer, connections_above_the_limit_get_503) {
  FunctionHandler handler(echo);
  HttpServerOptions options;
  options.max_connections = 1;
  const auto server = serve(handler, std::move(options));
  RawClient first(server->port());
  first.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  first.read_until("GET /? ");
  RawClient second(server->port());
  second.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_EQ(status_line(second.read_all()), "HTTP/1.1 503 Service Unavailable");
  first.send("GET /still HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_NE(first.read_until("GET /still? ").find("GET /still? "), std::string::npos);
}

TEST(HttpServer, a_writer_dropped_without_an_answer_gives_500) {
  FunctionHandler handler([](const HttpRequest&, ResponseWriter) {});
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  EXPECT_EQ(status_line(client.read_all()), "HTTP/1.1 500 Internal Server Error");
}

TEST(HttpServer, an_answer_may_come_from_another_thread) {
  std::promise<ResponseWriter> arrived;
  FunctionHandler handler(
      [&](const HttpRequest&, ResponseWriter writer) { arrived.set_value(std::move(writer)); });
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  ResponseWriter writer = arrived.get_future().get();
  const Thread thread("answer", [&] { writer.send({201, {}, "later"}); });
  EXPECT_EQ(body_of(client.read_all()), "later");
}

TEST(HttpServer, header_values_cannot_split_the_head) {
  FunctionHandler handler([](const HttpRequest&, ResponseWriter writer) {
    writer.send({200, {{"x-echo", "a\r\nset-cookie: b"}}, ""});
  });
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  EXPECT_NE(client.read_all().find("x-echo: a  set-cookie: b\r\n"), std::string::npos);
}

TEST(HttpServer, framing_headers_of_the_handler_are_replaced_and_its_close_is_obeyed) {
  FunctionHandler handler([](const HttpRequest&, ResponseWriter writer) {
    writer.send({200, {{"Content-Length", "99"}, {"Connection", "close"}}, "abc"});
  });
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  const std::string response = client.read_all();
  EXPECT_NE(response.find("content-length: 3\r\n"), std::string::npos);
  EXPECT_EQ(response.find("99"), std::string::npos);
  EXPECT_TRUE(client.ended_in_order());
}

TEST(HttpServer, shutdown_lets_a_running_answer_end) {
  std::promise<ResponseWriter> arrived;
  FunctionHandler handler(
      [&](const HttpRequest&, ResponseWriter writer) { arrived.set_value(std::move(writer)); });
  const auto server = serve(handler);
  RawClient idle(server->port());
  RawClient busy(server->port());
  busy.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  ResponseWriter writer = arrived.get_future().get();
  std::promise<std::string> read;
  const Thread reader("reader", [&] {
    idle.read_all();  // ends once the server has begun to shut down
    writer.send({200, {}, "done"});
    read.set_value(busy.read_all());
    busy.close();
  });
  server->shutdown(10s);
  EXPECT_EQ(server->num_connections(), 0);
  const std::string response = read.get_future().get();
  EXPECT_EQ(body_of(response), "done");
  EXPECT_NE(response.find("connection: close\r\n"), std::string::npos);
}

TEST(HttpServer, shutdown_cuts_what_outlasts_the_grace) {
  std::promise<DisconnectReason> gone;
  std::promise<void> arrived;
  std::vector<ResponseWriter> kept;
  FunctionHandler handler([&](const HttpRequest&, ResponseWriter writer) {
    writer.on_disconnect([&](DisconnectReason reason) { gone.set_value(reason); });
    kept.push_back(std::move(writer));
    arrived.set_value();
  });
  const auto server = serve(handler);
  RawClient client(server->port());
  client.send("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  arrived.get_future().wait();
  server->shutdown(1ms);
  EXPECT_EQ(gone.get_future().get(), DisconnectReason::kShutdown);
  EXPECT_EQ(server->num_connections(), 0);
}

TEST(HttpServer, sixty_four_connections_at_once_on_two_loops) {
  FunctionHandler handler(echo);
  HttpServerOptions options;
  options.num_io_threads = 2;
  const auto server = serve(handler, std::move(options));
  auto loop = IoContext::create("client");
  ASSERT_TRUE(loop.ok());
  const auto transport = make_tcp_transport();
  HttpClient client(*loop.value(), *transport);
  std::atomic<int> num_good{0};
  TaskScope scope(*loop.value());
  for (int i = 0; i < 64; ++i) {
    scope.spawn([](HttpClient* c, int port, int id, std::atomic<int>* good) -> Task<void> {
      for (int k = 0; k < 10; ++k) {
        const std::string name = std::to_string(id) + "." + std::to_string(k);
        ClientRequest request;
        request.method = "POST";
        request.url = "http://127.0.0.1:" + std::to_string(port) + "/" + name;
        request.body = std::string(static_cast<std::size_t>(id * 1000), 'b');
        const std::string want = "POST /" + name + "? " + request.body;
        const Result<HttpResponse> response = co_await c->request(std::move(request));
        if (response.ok() && response.value().body == want) {
          ++*good;
        }
      }
    }(&client, server->port(), i, &num_good));
  }
  scope.join_blocking();
  EXPECT_EQ(num_good, 640);
}

}  // namespace
}  // namespace plumb
