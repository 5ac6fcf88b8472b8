#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/json.h"
#include "io/http/server.h"
#include "io/http/transport.h"
#include "io/metrics/hub.h"
#include "io/metrics/io_sessions.h"
#include "io/metrics/record/record_json.h"
#include "io/metrics/sink.h"
#include "io/sinks/exposition.h"

namespace stoker {
namespace {

// How long a run waits at its end for its last scrape. A value.
struct Linger {
  std::optional<double> seconds;  // absent: auto
};

}  // namespace

template <>
struct Scalar<Linger> {
  static bool parse(const std::string& text, Linger& out) {
    double seconds = 0;
    const bool number = parse_number(text, seconds) && seconds >= 0 && seconds <= 3600;
    if (text != word && !number) return false;
    out.seconds = number ? std::optional(seconds) : std::nullopt;
    return true;
  }
  static std::string format(const Linger& value) {
    return value.seconds ? fmt::format("{}", *value.seconds) : word;
  }
  static constexpr const char* expected = "auto or a number of seconds from 0 to 3600";
  static constexpr const char* word = "auto";
};

namespace {

// Whoever asks again and again: when the next time is due, by when those before it came, and
// whether they have seen the run's end. Any thread.
class Scrapes {
 public:
  // usual: the pause after the first time.
  explicit Scrapes(std::chrono::seconds usual) : usual_(usual) {}
  // The run was told to be at least this far.
  void came(RunPhase phase) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = Clock::now();
    if (last_) pauses_[scrapes_++ % pauses_.size()] = now - *last_;
    last_ = now;
    if (phase == RunPhase::completed || phase == RunPhase::stopped || phase == RunPhase::failed) {
      seen_ = true;
    }
  }
  bool end_seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  // Empty: nobody scrapes. Who came once may come again.
  std::optional<TimePoint> due() const {
    const std::lock_guard lock(mutex_);
    if (!last_) return std::nullopt;
    const Clock::duration pause =
        scrapes_ == 0 ? usual_ : *std::max_element(pauses_.begin(), pauses_.end());
    if (pause > kLongestPause) return std::nullopt;
    return *last_ + pause + pause / 4 + kLate;
  }

 private:
  static constexpr std::chrono::seconds kLongestPause{120}, kLate{3};
  const std::chrono::seconds usual_;
  mutable std::mutex mutex_;
  std::optional<TimePoint> last_;
  size_t scrapes_ = 0;
  bool seen_ = false;
  std::array<Clock::duration, 4> pauses_{};  // the last ones
};

enum class Port { fixed, automatic };
EnumNames<Port> enum_names(Port) { return {{"fixed", Port::fixed}, {"auto", Port::automatic}}; }

struct PrometheusOptions {
  HttpAddress listen{"127.0.0.1", 9464};
  Port port = Port::fixed;
  Linger linger;
  double stalled_seconds = 120;
  double save_seconds = 10;
  std::string pushgateway;
  std::vector<std::string> hosts;
  bool control = false;

  template <class V>
  void visit(V& v) {
    v("listen", listen,
      "The address of /metrics, /healthz, /api/status and the status page. With several ranks, "
      "each adds its number on its machine to the port.");
    v("port", port,
      "What happens where the port of `listen` is taken. fixed: the run ends with an error. auto: "
      "another free port is used.");
    v("linger", linger,
      "The run waits for at most this number of seconds at its end until its last state was "
      "scraped. auto: until whoever scraped /metrics so far should have come once more; not at all "
      "where nobody did. After a signal, as auto, within checkpoint.grace_seconds. For an open "
      "status page, as auto, within that number.");
    v("stalled_seconds", stalled_seconds,
      "/healthz answers 503 after this number of seconds without a step. What the trainer waits "
      "for a checkpoint (checkpoint.hang_seconds) or other ranks (distributed.timeout) does not "
      "count.",
      Limits{1, 1e6});
    v("save_seconds", save_seconds, "The seconds between two writes of metrics.prom.",
      Limits{1, 1e6});
    v("pushgateway", pushgateway,
      "The URL of a Pushgateway that gets the outcome, http://host:port. Empty: nothing is "
      "pushed.");
    v("hosts", hosts,
      "Further names, without port, by which this server may be asked. It answers to localhost and "
      "to the address of `listen` in any case; on 0.0.0.0, to every address that is a number.");
    v("control", control,
      "A POST to /api/io_profile/begin or /api/io_profile/end begins or ends a session of the I/O "
      "profiler, whoever sends it.");
  }
  void check(const Section& section) const {
    if (!pushgateway.empty() && !pushgateway.starts_with("http://")) {
      section.fail("pushgateway", "expected http://host:port");
    }
  }
};

constexpr const char* kText = "text/plain; charset=utf-8";

void write_file(const std::string& path, const std::string& text) {
  atomic_write_file(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                    AtomicFile::Parents::needed);
}

// Error(ExitCode::config) where the rule leads beyond the last port.
HttpAddress own_address(HttpAddress listen, const RunInfo& info) {
  const int64_t port = listen.port + info.local_rank;
  if (port > UINT16_MAX) {
    throw Error(ExitCode::config, fmt::format("sink prometheus: rank {} would listen on port {}; "
                                              "give `listen` a port below {}",
                                              info.rank, port, UINT16_MAX - info.world_size));
  }
  listen.port = static_cast<uint16_t>(port);
  return listen;
}

// Serves the run to a Prometheus, a browser, and whoever asks for its health; leaves metrics.prom
// (the last state) and targets.json (for file-based discovery) in the run directory.
class Prometheus final : public MetricsSink {
 public:
  using Options = PrometheusOptions;
  Prometheus(Options options, const Inputs& inputs)
      : options_(std::move(options)),
        inputs_(inputs),
        exposition_(inputs.hub),
        server_(own_address(options_.listen, inputs.hub.run().state().info),
                options_.port == Port::automatic, routes(), options_.hosts),
        saver_([this](const std::stop_token& stop) { save_now_and_then(stop); }) {
    const std::string address = Scalar<HttpAddress>::format(server_.address());
    inputs_.log("live metrics and status page: http://" +
                Scalar<HttpAddress>::format(server_.address().destination()) + "/");
    if (!server_.address().loopback()) {
      inputs_.log("warning: " + address +
                  " can be reached from other machines, without a password: let only those in "
                  "that should read it");
    }
    write_targets();
    // A plug-in that is missing ends the run here, and not after the training.
    if (!options_.pushgateway.empty()) load_http_transport();
  }

  void flush() override {
    linger();
    saver_.request_stop();
    saver_.join();
    save();
    push();
  }

 private:
  HttpRoutes routes() {
    HttpRoutes routes{
        {"/metrics", [this] { return metrics(); }},
        {"/healthz", [this] { return health(); }},
        {"/api/status", [this] { return status(); }},
        {"/", [] {
           return HttpReply{200, "text/html; charset=utf-8", std::string(status_page())};
         }}};
    if (!options_.control) return routes;
    const auto ask = [&routes](const char* path, void (IoTrigger::*wish)() noexcept) {
      const auto reply = [wish] {
        (IoTrigger::instance().*wish)();
        return HttpReply{200, kText, "at the next step\n"};
      };
      routes.emplace(path, HttpRoute(reply, HttpRoute::Method::post));
    };
    ask("/api/io_profile/begin", &IoTrigger::begin);
    ask("/api/io_profile/end", &IoTrigger::end);
    return routes;
  }

  HttpReply metrics() {
    const RunPhase phase = inputs_.hub.run().state().phase;  // at least that is in the text
    HttpReply reply{200, "text/plain; version=0.0.4; charset=utf-8", exposition_.text()};
    scrapes_.came(phase);
    scraped_.notify_all();
    return reply;
  }

  HttpReply health() {
    const RunMeter::State run = inputs_.hub.run().state();
    const bool healthy =
        run.phase != RunPhase::failed && makes_progress(run, options_.stalled_seconds);
    return {healthy ? 200 : 503, kText,
            fmt::format("{}: {}, step {}, {:.1f} s since the last progress\n",
                        healthy ? "ok" : "unhealthy", to_string(run.phase), run.totals.steps,
                        run.stalled_s)};
  }

  HttpReply status() {
    const RunPhase phase = inputs_.hub.run().state().phase;
    HttpReply reply{200, "application/json",
                    json_text(status_json(inputs_.hub, options_.stalled_seconds)) + "\n"};
    page_.came(phase);
    scraped_.notify_all();
    return reply;
  }

  void write_targets() {
    const RunInfo info = inputs_.hub.run().state().info;
    nlohmann::json labels = {{"run", run_label(info)}, {"loader", info.loader}};
    // With many ranks every series has the label itself.
    if (info.world_size == 1) labels["rank"] = std::to_string(info.rank);
    HttpAddress scraped = server_.address();
    const bool everywhere = scraped.host == "0.0.0.0" || scraped.host == "::";
    if (everywhere && !info.address.empty()) scraped.host = info.address;
    const nlohmann::json targets = {
        {{"targets", {Scalar<HttpAddress>::format(scraped.destination())}}, {"labels", labels}}};
    write_file(inputs_.run_dir + "/targets.json", json_text(targets, 2) + "\n");
  }

  void save() { write_file(inputs_.run_dir + "/metrics.prom", exposition_.text()); }

  // A process that is killed leaves the state of a few seconds before.
  void save_now_and_then(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto pause = std::chrono::duration<double>(options_.save_seconds);
    while (!wake_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
      try {
        save();
      } catch (const Error& error) {
        inputs_.failed(error.what());
      }
    }
  }

  // Until somebody has seen the end of the run, who else would believe in what it saw last.
  void linger() {
    const TimePoint begin = Clock::now();
    const auto wait = std::chrono::duration_cast<std::chrono::seconds>(scrape_end(begin) - begin);
    if (!scrapes_.end_seen() && wait.count() > 0) {
      inputs_.log(
          fmt::format("waiting at most {} s until this run's end is scraped", wait.count()));
    }
    while ((!scrapes_.end_seen() && Clock::now() < scrape_end(begin)) ||
           (!page_.end_seen() && Clock::now() < page_end(begin))) {
      std::unique_lock lock(mutex_);
      scraped_.wait_for(lock, std::chrono::milliseconds(50));
    }
  }

  // begin: of the wait. A signal may come while it lasts.
  TimePoint scrape_end(TimePoint begin) const {
    const std::optional<double> seconds = options_.linger.seconds;
    const std::optional<TimePoint> ends_by = inputs_.ends_by();
    if (seconds && (*seconds == 0 || !ends_by)) return begin + from_seconds(*seconds);
    const TimePoint due = scrapes_.due().value_or(begin);
    return ends_by ? std::min(due, *ends_by) : due;
  }
  TimePoint page_end(TimePoint begin) const {
    const TimePoint due = page_.due().value_or(begin);
    const TimePoint most =
        options_.linger.seconds ? begin + from_seconds(*options_.linger.seconds) : due;
    return std::min({due, most, inputs_.ends_by().value_or(due)});
  }

  void push() {
    if (options_.pushgateway.empty()) return;
    const int64_t rank = inputs_.hub.run().state().info.rank;
    try {
      const HttpReply reply = http_put(
          options_.pushgateway, fmt::format("/metrics/job/stoker/rank/{}", rank),
          "text/plain; version=0.0.4", outcome_text(inputs_.hub), std::chrono::seconds(10));
      if (reply.status / 100 == 2) return;
      inputs_.log(fmt::format("warning: the Pushgateway refused the outcome: {} {}", reply.status,
                              reply.body));
    } catch (const std::exception& error) {  // no thread may be had for it
      inputs_.log(std::string("warning: the outcome was not pushed: ") + error.what());
    }
  }

  const Options options_;
  const Inputs inputs_;
  Exposition exposition_;
  Scrapes scrapes_{std::chrono::seconds(15)};
  Scrapes page_{std::chrono::seconds(1)};  // /api/status, for which the page asks every second
  std::mutex mutex_;
  std::condition_variable scraped_;
  std::condition_variable_any wake_;
  WebServer server_;  // its handlers use what stands above
  std::jthread saver_;
};

STOKER_REGISTER(MetricsSink, "prometheus", Prometheus);

}  // namespace
}  // namespace stoker
