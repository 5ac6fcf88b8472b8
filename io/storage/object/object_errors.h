#pragma once

#include <cstdint>
#include <string>

#include "io/http/message.h"
#include "io/storage/object/object_place.h"

namespace stoker {

// What an answer that nobody expected means. Each function throws an IoError that says what was
// asked for (`shown`: "read http://host/a b"), what the server sent, and what to do; ESTALE where
// the object is another version than before. Any thread.

// Another status than that of success.
[[noreturn]] void throw_answer(const std::string& shown, const HttpAnswer& answer,
                               const ObjectPlace& place);

// Checks the status of an answer to a request for bytes of this version.
void check_answer(const std::string& shown, const HttpAnswer& answer, const ObjectVersion& version,
                  const ObjectPlace& place);
// Checks that the head of such an answer is that of these bytes of this version, neither encoded
// nor a page in its place.
void check_part(const std::string& shown, const HttpHead& head, const ObjectVersion& version,
                uint64_t offset, uint64_t length, const ObjectPlace& place);
// The size that the head of a first answer says; ranged: it was a GET for a range, else a HEAD.
uint64_t size_said(const std::string& shown, const HttpHead& head, const ObjectPlace& place,
                   bool ranged);

}  // namespace stoker
