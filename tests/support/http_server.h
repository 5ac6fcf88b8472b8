#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stoker {

struct HttpResponse {
  std::string status = "200 OK";
  std::string headers = {};  // "ETag: \"1\"\r\n"
  std::string body = {};
  size_t send = std::string::npos;  // bytes of the body before the connection breaks
};

// A web server on the loopback interface that answers one request after another by `handler`, which
// runs on the server's thread.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const std::string& request)>;

  explicit HttpServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 16) != 0 ||
        ::getsockname(listener_, raw, &size) != 0) {
      throw std::runtime_error("no loopback socket");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~HttpServer() {
    ::shutdown(listener_, SHUT_RDWR);  // wakes accept()
    thread_.join();
    ::close(listener_);
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  // All requests so far: request line and headers.
  std::vector<std::string> requests() const {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    for (int connection; (connection = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      answer(connection);
      ::close(connection);
    }
  }

  void answer(int connection) {
    std::string request;
    char block[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(connection, block, sizeof block, 0);
      if (count <= 0) return;
      request.append(block, static_cast<size_t>(count));
    }
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const HttpResponse response = handler_(request);
    std::string text = "HTTP/1.1 " + response.status + "\r\nConnection: close\r\nContent-Length: " +
                       std::to_string(response.body.size()) + "\r\n" + response.headers + "\r\n" +
                       response.body.substr(0, response.send);
    for (size_t done = 0; done < text.size();) {
      const ssize_t count =
          ::send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (count <= 0) return;
      done += static_cast<size_t>(count);
    }
  }

  Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::jthread thread_;
};

// The value of a header in a request; empty: not there.
inline std::string header(const std::string& request, const std::string& name) {
  const size_t begin = request.find("\r\n" + name + ": ");
  if (begin == std::string::npos) return "";
  const size_t value = begin + name.size() + 4;
  return request.substr(value, request.find("\r\n", value) - value);
}

// Answers as a server that supports Range and If-Range for one file.
inline HttpResponse answer_with_file(const std::string& request, const std::string& contents,
                                     const std::string& etag) {
  HttpResponse response;
  response.headers = "ETag: " + etag + "\r\n";
  const std::string range = header(request, "Range");
  if (range.empty() || header(request, "If-Range") != etag) {
    response.body = contents;
    return response;
  }
  const size_t offset = std::stoul(range.substr(range.find('=') + 1));
  if (offset >= contents.size()) {
    response.status = "416 Range Not Satisfiable";
    return response;
  }
  response.status = "206 Partial Content";
  response.headers += "Content-Range: bytes " + std::to_string(offset) + "-" +
                      std::to_string(contents.size() - 1) + "/" + std::to_string(contents.size()) +
                      "\r\n";
  response.body = contents.substr(offset);
  return response;
}

}  // namespace stoker
