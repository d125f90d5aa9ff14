// Arguments of calls from JavaScript: checked, then read. Addresses and handles are BigInts.

#pragma once

#include <napi.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

bool Require(const Napi::CallbackInfo& info, bool condition, const char* expected) {
  if (condition) return true;
  Napi::TypeError::New(info.Env(), std::string("Driver: expected ") + expected).ThrowAsJavaScriptException();
  return false;
}

bool AreBigInts(const Napi::CallbackInfo& info, size_t from, size_t count) {
  for (size_t i = from; i < from + count; i++) {
    if (!Require(info, info.Length() > i && info[i].IsBigInt(), "an address or a handle (BigInt)")) return false;
  }
  return true;
}

bool IsCount(const Napi::CallbackInfo& info, size_t i) {
  return Require(info, info.Length() > i && info[i].IsNumber() && info[i].As<Napi::Number>().Int64Value() >= 0, "a whole number from 0");
}

bool AreWords(const Napi::CallbackInfo& info, size_t i, const char* expected) {
  return Require(info, info.Length() > i && info[i].IsTypedArray() && info[i].As<Napi::TypedArray>().TypedArrayType() == napi_biguint64_array,
                 expected);
}

bool IsText(const Napi::CallbackInfo& info) {
  return Require(info, info.Length() > 0 && info[0].IsString(), "a module's text");
}

bool IsImage(const Napi::CallbackInfo& info) {
  return Require(info, info.Length() > 0 && (info[0].IsString() || info[0].IsTypedArray()), "a module's text or code");
}

bool IsName(const Napi::CallbackInfo& info, size_t index) {
  return Require(info, info.Length() > index && info[index].IsString(), "a kernel's name");
}

std::string Text(const Napi::Value& value) {
  return value.As<Napi::String>().Utf8Value();
}

uint64_t Word(const Napi::Value& value) {
  bool lossless = false;
  return value.As<Napi::BigInt>().Uint64Value(&lossless);
}

template <typename T>
T Pointer(const Napi::Value& value) {
  return reinterpret_cast<T>(static_cast<uintptr_t>(Word(value)));
}

size_t Count(const Napi::Value& value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

// A string or a Uint8Array as bytes.
std::string Bytes(const Napi::Value& value) {
  if (value.IsString()) return value.As<Napi::String>().Utf8Value();
  Napi::Uint8Array bytes = value.As<Napi::Uint8Array>();
  return std::string(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
}

Napi::Value ToBytes(Napi::Env env, const std::vector<uint8_t>& bytes) {
  Napi::Uint8Array copy = Napi::Uint8Array::New(env, bytes.size());
  if (!bytes.empty()) std::memcpy(copy.Data(), bytes.data(), bytes.size());
  return copy;
}

Napi::Value ToHandle(Napi::Env env, const void* pointer) {
  return Napi::BigInt::New(env, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(pointer)));
}

}  // namespace
