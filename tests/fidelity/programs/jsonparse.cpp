/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jsonparse: a JSON text is generated, parsed by recursive descent into a tree of std::variant with
 * maps, vectors and strings, queried by paths, changed and written again. Irregular: values nested
 * in containers of their own, allocated in the order of the text and walked in that of the keys.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace
{
struct Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value>;
struct Value {
    std::variant<std::nullptr_t, bool, double, std::string, Array, Object> is;
};

uint32_t state = 99991;

uint32_t draw(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (state >> 5) % below;
}

void generate(std::string &out, int depth)
{
    static const char *const key[] = {"id", "name", "tags", "parent", "size", "children", "flags"};
    const uint32_t kind = depth > 6 ? draw(4) : depth < 2 ? 5 : draw(7);
    if (kind == 0) {
        out += draw(2) ? "true" : "null";
    } else if (kind <= 2) {
        out += std::to_string(draw(100000)) + "." + std::to_string(draw(10));
    } else if (kind == 3) {
        out += "\"a string \\\"" + std::to_string(draw(1000)) + "\\\" of text\"";
    } else if (kind == 4) {
        out += '[';
        for (uint32_t i = draw(8); i > 0; i--) {
            generate(out, depth + 1);
            out += i > 1 ? ", " : " ";
        }
        out += ']';
    } else {
        out += "{\n";
        for (uint32_t i = depth ? 1 + draw(6) : 24; i > 0; i--) {
            out += std::string("\"") + key[draw(7)] + std::to_string(draw(depth ? 3 : 90)) + "\": ";
            generate(out, depth + 1);
            out += i > 1 ? ",\n" : "\n";
        }
        out += '}';
    }
}

class Parser
{
    const char *at;

    void space()
    {
        while (*at == ' ' || *at == '\n')
            at++;
    }

    std::string string()
    {
        std::string s;
        for (at++; *at != '"'; at++) {
            if (*at == '\\')
                at++;
            s += *at;
        }
        at++;
        return s;
    }

  public:
    explicit Parser(const std::string &text) : at(text.c_str())
    {
    }

    Value value()
    {
        space();
        if (*at == '{') {
            Object object;
            for (at++, space(); *at != '}'; space()) {
                if (*at == ',') {
                    at++;
                    continue;
                }
                std::string key = string();
                space();
                at++;
                object[std::move(key)] = value();
            }
            at++;
            return {std::move(object)};
        }
        if (*at == '[') {
            Array array;
            for (at++, space(); *at != ']'; space()) {
                if (*at == ',')
                    at++;
                else
                    array.push_back(value());
            }
            at++;
            return {std::move(array)};
        }
        if (*at == '"')
            return {string()};
        if (*at == 't' || *at == 'n') {
            at += 4;
            return at[-4] == 't' ? Value{true} : Value{nullptr};
        }
        char *end;
        double number = std::strtod(at, &end);
        at = end;
        return {number};
    }
};

uint64_t digest(Value &v, uint64_t sum, int depth)
{
    if (auto *object = std::get_if<Object>(&v.is)) {
        for (auto &[key, child] : *object)
            sum = digest(child, sum * 31 + key.size() + static_cast<unsigned char>(key[0]),
                         depth + 1);
        if (depth > 3)
            object->erase("tags0");
    } else if (auto *array = std::get_if<Array>(&v.is)) {
        for (Value &child : *array)
            sum = digest(child, sum * 7 + array->size(), depth + 1);
    } else if (auto *string = std::get_if<std::string>(&v.is)) {
        for (char c : *string)
            sum = sum * 5 + static_cast<unsigned char>(c);
    } else if (auto *number = std::get_if<double>(&v.is)) {
        sum += static_cast<uint64_t>(*number);
        *number += depth;
    }
    return sum;
}
} // namespace

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 20;
    uint64_t sum = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        std::string text;
        generate(text, 0);
        bytes += text.size();
        Value root = Parser(text).value();
        sum = digest(root, sum, 0);
        sum = digest(root, sum, 0);
    }
    std::printf("jsonparse %zu checksum %llu (%zu bytes)\n", n,
                static_cast<unsigned long long>(sum), bytes);
    return 0;
}
