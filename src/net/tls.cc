// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <algorithm>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <utility>
#include <vector>

#include "base/file.h"

namespace plumb {
namespace {

// Plain bytes encrypted per write to the inner stream: bounds the copy a large body costs.
constexpr std::size_t kMaxEncryptBytes = 256 * 1024;

std::string last_tls_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason != nullptr ? reason : "unknown error";
}

struct SslDelete {
  void operator()(SSL* ssl) const { SSL_free(ssl); }

  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

using SslPtr = std::unique_ptr<SSL, SslDelete>;
using ContextPtr = std::unique_ptr<SSL_CTX, SslDelete>;

/// TLS between a stream and its user, through memory buffers.
///
/// Callbacks of the user travel inside the callbacks given to the inner stream, which keeps the
/// ownership rule of ByteStream without a cycle.
class TlsStream final : public ByteStream {
 public:
  TlsStream(IoContext& loop, std::unique_ptr<ByteStream> inner, SslPtr ssl)
      : loop_(loop), inner_(std::move(inner)), ssl_(std::move(ssl)) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }

  void read(ReadCallback done) override {
    if (SSL_has_pending(ssl_.get()) == 1 || BIO_ctrl_pending(SSL_get_rbio(ssl_.get())) > 0) {
      // Not inside this call: its caller does not expect the callback yet.
      loop_.post([this, done = std::move(done)]() mutable { decrypt(std::move(done)); });
      return;
    }
    read_inner(std::move(done));
  }

  std::optional<Status> write(std::span<const std::string_view> parts,
                              WriteCallback done) override {
    plain_.clear();
    plain_at_ = 0;
    for (std::string_view part : parts) {
      plain_ += part;
    }
    if (writing_) {  // a reply of the protocol itself is on its way
      queued_write_ = std::move(done);
      return std::nullopt;
    }
    return pump_write(std::move(done));
  }

  void wait_reset(UniqueFunction<void()> lost) override { inner_->wait_reset(std::move(lost)); }

  void shutdown_write(UniqueFunction<void()> done) override {
    if (!writing_ && SSL_is_init_finished(ssl_.get()) == 1) {
      SSL_shutdown(ssl_.get());
      ERR_clear_error();
      take_output();
      const std::string_view part = cipher_;
      writing_ = true;
      WriteCallback sent = [this, done = std::move(done)](const Status&) mutable {
        writing_ = false;
        inner_->shutdown_write(std::move(done));
      };
      // The callback is shared between the two ways in which the write may end.
      auto shared = std::make_shared<WriteCallback>(std::move(sent));
      if (inner_->write({&part, 1}, [shared](Status status) { (*shared)(std::move(status)); })) {
        (*shared)(Status());
      }
      return;
    }
    inner_->shutdown_write(std::move(done));
  }

  void close() override { inner_->close(); }

  void reset() override { inner_->reset(); }

  bool is_alive() override { return inner_->is_alive(); }

  std::string peer_address() const override { return inner_->peer_address(); }

  /// Client side: sends the first flight, then reads until the handshake is complete.
  void start_handshake(UniqueFunction<void(Status)> done) {
    SSL_do_handshake(ssl_.get());
    ERR_clear_error();
    flush_then([this, done = std::move(done)](Status status) mutable {
      if (!status.ok()) {
        done(std::move(status));
        return;
      }
      continue_handshake(std::move(done));
    });
  }

 private:
  void continue_handshake(UniqueFunction<void(Status)> done) {
    inner_->read([this, done = std::move(done)](Result<std::string_view> bytes) mutable {
      if (!bytes.ok() || bytes.value().empty()) {
        done(bytes.ok() ? Status(Code::kUnavailable, "tls: closed during the handshake")
                        : bytes.status());
        return;
      }
      accept_input(bytes.value());
      const int outcome = SSL_do_handshake(ssl_.get());
      if (outcome != 1 && SSL_get_error(ssl_.get(), outcome) != SSL_ERROR_WANT_READ) {
        done(handshake_error());
        return;
      }
      flush_then([this, outcome, done = std::move(done)](Status status) mutable {
        if (!status.ok() || outcome == 1) {
          done(std::move(status));
        } else {
          continue_handshake(std::move(done));
        }
      });
    });
  }

  Status handshake_error() {
    const long verdict = SSL_get_verify_result(ssl_.get());
    const std::string reason =
        verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : last_tls_error();
    ERR_clear_error();
    return Status(Code::kUnavailable, "tls: " + reason);
  }

  void accept_input(std::string_view bytes) {
    BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }

  void read_inner(ReadCallback done) {
    inner_->read([this, done = std::move(done)](Result<std::string_view> bytes) mutable {
      if (!bytes.ok() || bytes.value().empty()) {
        done(std::move(bytes));  // an end without close_notify counts as an end: HTTP frames itself
        return;
      }
      accept_input(bytes.value());
      decrypt(std::move(done));
    });
  }

  void decrypt(ReadCallback done) {
    const std::span<char> scratch = loop_.scratch();
    std::size_t num_bytes = 0;
    int outcome = 1;
    while (num_bytes < scratch.size()) {  // one call yields one record; deliver all there are
      outcome = SSL_read(ssl_.get(), scratch.data() + num_bytes,
                         static_cast<int>(scratch.size() - num_bytes));
      if (outcome <= 0) {
        break;
      }
      num_bytes += static_cast<std::size_t>(outcome);
    }
    const int reason = outcome > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), outcome);
    if (num_bytes > 0) {
      ERR_clear_error();
      // Replies of the protocol, if any, leave with the next read or write.
      done(std::string_view(scratch.data(), num_bytes));
    } else if (reason == SSL_ERROR_WANT_READ) {
      flush_then([this, done = std::move(done)](Status status) mutable {
        if (status.ok()) {
          read_inner(std::move(done));
        } else {
          done(std::move(status));
        }
      });
    } else if (reason == SSL_ERROR_ZERO_RETURN) {
      done(std::string_view());
    } else {
      fail_read(std::move(done));
    }
  }

  // The alert that names the fault to the peer is sent before the failure is reported.
  void fail_read(ReadCallback done) {
    Status status = handshake_error();
    flush_then([status = std::move(status), done = std::move(done)](const Status&) mutable {
      done(std::move(status));
    });
  }

  void take_output() {
    BIO* out = SSL_get_wbio(ssl_.get());
    cipher_.resize(BIO_ctrl_pending(out));
    if (!cipher_.empty()) {
      BIO_read(out, cipher_.data(), static_cast<int>(cipher_.size()));
    }
  }

  // Sends what the protocol has to say, then calls next; if a write is running, that one's end
  // sends it.
  void flush_then(UniqueFunction<void(Status)> next) {
    if (writing_ || BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) == 0) {
      next(Status());
      return;
    }
    take_output();
    writing_ = true;
    const std::string_view part = cipher_;
    auto shared = std::make_shared<UniqueFunction<void(Status)>>(std::move(next));
    const std::optional<Status> sent =
        inner_->write({&part, 1}, [this, shared](Status status) { on_flushed(*shared, status); });
    if (sent) {
      on_flushed(*shared, *sent);
    }
  }

  void on_flushed(UniqueFunction<void(Status)>& next, const Status& status) {
    writing_ = false;
    if (WriteCallback queued = std::move(queued_write_)) {
      queued_write_ = nullptr;
      auto shared = std::make_shared<WriteCallback>(std::move(queued));
      if (std::optional<Status> outcome =
              pump_write([shared](Status sent) { (*shared)(std::move(sent)); })) {
        (*shared)(std::move(*outcome));
      }
    }
    next(status);
  }

  // Encrypts and sends slice by slice; a value once all is sent or the stream failed.
  std::optional<Status> pump_write(WriteCallback done) {
    while (plain_at_ < plain_.size() || BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) > 0) {
      if (plain_at_ < plain_.size()) {
        const std::size_t slice = std::min(kMaxEncryptBytes, plain_.size() - plain_at_);
        if (SSL_write(ssl_.get(), plain_.data() + plain_at_, static_cast<int>(slice)) <= 0) {
          return Status(Code::kUnavailable, "tls: " + last_tls_error());
        }
        plain_at_ += slice;
      }
      take_output();
      writing_ = true;
      const std::string_view part = cipher_;
      auto shared = std::make_shared<WriteCallback>(std::move(done));
      std::optional<Status> sent =
          inner_->write({&part, 1}, [this, shared](Status status) { on_written(*shared, status); });
      if (!sent) {
        return std::nullopt;
      }
      writing_ = false;
      done = std::move(*shared);
      if (!sent->ok()) {
        return sent;
      }
    }
    release(plain_);
    release(cipher_);
    return Status();
  }

  void on_written(WriteCallback& done, const Status& status) {
    writing_ = false;
    if (!status.ok()) {
      done(status);
      return;
    }
    auto shared = std::make_shared<WriteCallback>(std::move(done));
    if (std::optional<Status> outcome =
            pump_write([shared](Status sent) { (*shared)(std::move(sent)); })) {
      (*shared)(std::move(*outcome));
    }
  }

  static void release(std::string& buffer) {
    buffer.clear();
    if (buffer.capacity() > kMaxEncryptBytes / 16) {
      buffer.shrink_to_fit();
    }
  }

  IoContext& loop_;
  std::unique_ptr<ByteStream> inner_;
  SslPtr ssl_;
  std::string plain_;
  std::size_t plain_at_ = 0;
  std::string cipher_;
  bool writing_ = false;
  WriteCallback queued_write_;
};

}  // namespace

struct TlsContext::Impl {
  ContextPtr context;
  bool verify = false;
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::server(const TlsServerOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = impl->context.get();
  if (context == nullptr) {
    return Status(Code::kInternal, "tls: " + last_tls_error());
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1) {
    return Status(Code::kInvalidArgument, "tls certificate file '" + options.cert_file +
                                              "': " + last_tls_error() +
                                              "; it must be a PEM chain, leaf first");
  }
  PLUMB_RETURN_IF_ERROR(check_private_file(options.key_file).with("tls key file"));
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Status(Code::kInvalidArgument, "tls key file '" + options.key_file +
                                              "': " + last_tls_error() +
                                              "; it must be an unencrypted PEM key that belongs "
                                              "to the certificate");
  }
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(impl)));
}

Result<std::unique_ptr<TlsContext>> TlsContext::client(const TlsClientOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_client_method()));
  impl->verify = options.verify;
  SSL_CTX* context = impl->context.get();
  if (context == nullptr) {
    return Status(Code::kInternal, "tls: " + last_tls_error());
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(context, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  const int loaded = options.ca_file.empty()
                         ? SSL_CTX_set_default_verify_paths(context)
                         : SSL_CTX_load_verify_file(context, options.ca_file.c_str());
  if (options.verify && loaded != 1) {
    return Status(Code::kInvalidArgument,
                  "tls trust store '" + options.ca_file + "': " + last_tls_error());
  }
  ERR_clear_error();
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(impl)));
}

std::unique_ptr<ByteStream> TlsContext::wrap_server(IoContext& loop,
                                                    std::unique_ptr<ByteStream> inner) {
  SslPtr ssl(SSL_new(impl_->context.get()));
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsStream>(loop, std::move(inner), std::move(ssl));
}

void TlsContext::connect(IoContext& loop, std::unique_ptr<ByteStream> inner,
                         const std::string& host, Transport::ConnectCallback done) {
  SslPtr ssl(SSL_new(impl_->context.get()));
  SSL_set_connect_state(ssl.get());
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) != 1) {
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
    SSL_set1_host(ssl.get(), host.c_str());
  }
  ERR_clear_error();
  auto stream = std::make_unique<TlsStream>(loop, std::move(inner), std::move(ssl));
  TlsStream* raw = stream.get();
  raw->start_handshake([stream = std::move(stream), done = std::move(done)](Status status) mutable {
    if (status.ok()) {
      done(std::unique_ptr<ByteStream>(std::move(stream)));
    } else {
      done(std::move(status));
    }
  });
}

}  // namespace plumb
