// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/tcp_transport.h"

namespace plumb {
namespace {

using namespace std::chrono_literals;

void add_extension(X509* cert, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, cert, cert, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

/// Writes a key and a certificate for localhost and 127.0.0.1 that signs itself.
void write_self_signed(const std::string& cert_file, const std::string& key_file) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key);
  X509_NAME* name = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(cert, name);
  add_extension(cert, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  X509_sign(cert, key, EVP_sha256());
  std::FILE* out = std::fopen(cert_file.c_str(), "w");
  PEM_write_X509(out, cert);
  std::fclose(out);
  out = std::fopen(key_file.c_str(), "w");
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  ::chmod(key_file.c_str(), 0600);
  X509_free(cert);
  EVP_PKEY_free(key);
}

/// A TLS server that echoes, streams at /stream and waits at /wait.
class TlsTest : public testing::Test, public HttpHandler {
 protected:
  void SetUp() override {
    write_self_signed(cert_, key_);
    HttpServerOptions options;
    options.address = "0.0.0.0";
    options.tls_cert_file = cert_;
    options.tls_key_file = key_;
    auto server = HttpServer::create(std::move(options), *this);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(server).value();
    loop_ = IoContext::create("client").value();
  }

  void handle(HttpRequest request, ResponseWriter writer) override {
    if (request.path == "/wait") {
      writer.on_disconnect([this](DisconnectReason) { gone_.set_value(); });
      kept_.push_back(std::move(writer));
    } else if (request.path == "/stream") {
      writer.start_stream(200, {});
      for (int i = 0; i < 1000; ++i) {
        writer.write_event(std::string(1000, static_cast<char>('a' + i % 26)));
      }
      writer.finish();
    } else {
      writer.send({200, {}, request.body});
    }
  }

  std::string url(const std::string& host, const std::string& path) const {
    return "https://" + host + ":" + std::to_string(server_->port()) + path;
  }

  HttpClientOptions trusting() const { return {.tls = {.verify = true, .ca_file = cert_}}; }

  const std::string base_ = testing::TempDir() + "plumb_tls_" + std::to_string(::getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string cert_ = base_ + ".cert.pem";
  const std::string key_ = base_ + ".key.pem";
  std::promise<void> gone_;
  std::vector<ResponseWriter> kept_;
  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<IoContext> loop_;
  std::unique_ptr<Transport> transport_ = make_tcp_transport();
};

TEST_F(TlsTest, bodies_of_any_size_come_back_on_one_verified_connection) {
  HttpClient client(*loop_, *transport_, trusting());
  for (std::size_t size : {0UL, 1UL, 16384UL, 100000UL, 5000000UL}) {
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
      body[i] = static_cast<char>(i * 31 >> 3);
    }
    const auto response =
        client.request_blocking({.method = "POST", .url = url("127.0.0.1", "/"), .body = body});
    ASSERT_TRUE(response.ok()) << response.status().message();
    EXPECT_TRUE(response.value().body == body) << size;
    EXPECT_EQ(server_->num_connections(), 1);
  }
}

TEST_F(TlsTest, a_stream_arrives_whole) {
  HttpClient client(*loop_, *transport_, trusting());
  std::string seen;
  const auto response =
      client.stream_blocking({.url = url("localhost", "/stream")}, [&](std::string_view piece) {
        seen += piece;
        return Status();
      });
  ASSERT_TRUE(response.ok()) << response.status().message();
  ASSERT_EQ(seen.size(), 1000000U);
  EXPECT_EQ(seen[999500], 'a' + 999 % 26);
}

TEST_F(TlsTest, an_untrusted_certificate_is_refused_unless_checks_are_off) {
  HttpClient strict(*loop_, *transport_);
  const auto refused = strict.request_blocking({.url = url("127.0.0.1", "/")});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("self-signed certificate"), std::string::npos)
      << refused.status().message();
  HttpClient lax(*loop_, *transport_, {.tls = {.verify = false, .ca_file = ""}});
  EXPECT_TRUE(lax.request_blocking({.url = url("127.0.0.1", "/")}).ok());
}

TEST_F(TlsTest, a_certificate_for_another_host_is_refused) {
  HttpClient client(*loop_, *transport_, trusting());
  const auto refused = client.request_blocking({.url = url("127.0.0.2", "/")});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("mismatch"), std::string::npos)
      << refused.status().message();
}

TEST_F(TlsTest, plain_http_on_a_tls_port_fails_cleanly) {
  HttpClient client(*loop_, *transport_);
  const std::string plain = "http" + url("127.0.0.1", "/").substr(5);
  const auto response = client.request_blocking({.url = plain, .timeout = 5s});
  EXPECT_FALSE(response.ok());
  HttpClient trusting_client(*loop_, *transport_, trusting());
  EXPECT_TRUE(trusting_client.request_blocking({.url = url("127.0.0.1", "/")}).ok());
}

TEST_F(TlsTest, a_client_that_leaves_is_reported) {
  HttpClient client(*loop_, *transport_, trusting());
  std::stop_source stop;
  TaskScope scope(*loop_);
  scope.spawn([](HttpClient* c, ClientRequest request) -> Task<void> {
    const auto response = co_await c->request(std::move(request));
    EXPECT_EQ(response.status().code(), Code::kCancelled);
  }(&client, ClientRequest{.url = url("127.0.0.1", "/wait"), .stop = stop.get_token()}));
  while (server_->num_connections() == 0) {
    run_blocking(*loop_, sleep_for(*loop_, 1ms));
  }
  loop_->post([&] { loop_->run_after(50ms, [&] { stop.request_stop(); }); });
  scope.join_blocking();
  gone_.get_future().wait();
}

TEST_F(TlsTest, bad_key_files_are_named) {
  HttpServerOptions options;
  options.tls_cert_file = cert_;
  options.tls_key_file = base_ + ".absent";
  const auto absent = HttpServer::create(options, *this);
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.status().message().find(base_ + ".absent"), std::string::npos);
  const std::string junk = base_ + ".junk";
  std::ofstream(junk) << "not a certificate";
  options.tls_cert_file = junk;
  options.tls_key_file = key_;
  const auto broken = HttpServer::create(options, *this);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.status().code(), Code::kInvalidArgument);
  options.tls_key_file = "";
  EXPECT_FALSE(HttpServer::create(options, *this).ok());
}

TEST_F(TlsTest, a_key_that_others_may_read_is_refused) {
  HttpServerOptions options;
  options.tls_cert_file = cert_;
  options.tls_key_file = key_;
  ASSERT_EQ(::chmod(key_.c_str(), 0644), 0);
  const auto readable = HttpServer::create(options, *this);
  ASSERT_FALSE(readable.ok());
  EXPECT_NE(readable.status().message().find("chmod 600 " + key_), std::string::npos)
      << readable.status().message();
  ASSERT_EQ(::chmod(key_.c_str(), 0600), 0);
  EXPECT_TRUE(HttpServer::create(options, *this).ok());
}

}  // namespace
}  // namespace plumb
