/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The static table of a module, u32 words in the order that capture_abi.h
 * gives: header, loops, blocks, refs, pieces, hoists, moves, quotients, nests, values,
 * steps, sites, globals, then the string bytes, padded to a word.
 */
#include "pass.h"

#include <algorithm>
#include <cstring>
#include "llvm/IR/Constants.h"

using namespace llvm;

namespace psnap
{

Table::Table()
{
    string("");
}

uint32_t Table::string(StringRef text)
{
    auto known = offsets.find(text.str());
    if (known != offsets.end())
        return known->second;
    uint32_t offset = (uint32_t)strings.size();
    strings += text.str();
    strings += '\0';
    offsets[text.str()] = offset;
    return offset;
}

/* A row for each 2 GiB: sizes have 32 bits. */
void Table::addGlobal(GlobalVariable &global, StringRef name, uint64_t size_bytes)
{
    const uint64_t most = UINT64_C(1) << 31;

    for (uint64_t at = 0; at < size_bytes; at += most) {
        uint64_t size = std::min(size_bytes - at, most);
        globals.push_back({string(name), (uint32_t)size});
        global_values.push_back(ConstantExpr::getInBoundsGetElementPtr(
            Type::getInt8Ty(global.getContext()), &global,
            ConstantInt::get(Type::getInt64Ty(global.getContext()), at)));
    }
}

uint32_t Table::addEnd(uint32_t psnap_table_piece::*kind, uint32_t words, uint32_t last)
{
    const size_t index = kind == &psnap_table_piece::hoist ? hoists.size() : nests.size();
    psnap_table_piece end = {};

    for (size_t i = pieces.size(); i-- > 0 && pieces[i].*kind == index;)
        if (pieces[i].last == last)
            return (uint32_t)i;
    end.words = words;
    end.block = NONE;
    end.*kind = (uint32_t)index;
    end.last = last;
    pieces.push_back(end);
    return (uint32_t)pieces.size() - 1;
}

template <typename Row>
static void appendRows(std::vector<uint32_t> &words, const std::vector<Row> &rows)
{
    static_assert(sizeof(Row) % sizeof(uint32_t) == 0, "rows are u32 columns");
    const uint32_t *first = reinterpret_cast<const uint32_t *>(rows.data());
    words.insert(words.end(), first, first + rows.size() * sizeof(Row) / sizeof(uint32_t));
}

std::vector<uint32_t> Table::words(StringRef source, StringRef language, StringRef compiler,
                                   StringRef stage)
{
    psnap_table_header header = {};
    header.magic = PSNAP_CAPTURE_MAGIC;
    header.abi = PSNAP_CAPTURE_ABI;
#define COUNT(row, rows) header.rows = (uint32_t)rows.size();
    PSNAP_TABLE_ROWS(COUNT)
#undef COUNT
    header.source = string(source);
    header.language = string(language);
    header.compiler = string(compiler);
    header.stage = string(stage);
    header.string_bytes = (uint32_t)strings.size();

    std::vector<uint32_t> words;
    appendRows(words, std::vector<psnap_table_header>{header});
#define APPEND(row, rows) appendRows(words, rows);
    PSNAP_TABLE_ROWS(APPEND)
#undef APPEND
    size_t at = words.size();
    words.resize(at + (strings.size() + 3) / 4);
    std::memcpy(&words[at], strings.data(), strings.size());
    return words;
}

} // namespace psnap
