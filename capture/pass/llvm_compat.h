/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between the versions of LLVM that the pass is built with, 16 to 22;
 * everything else is written so that it fits all of them.
 */
#ifndef PSNAP_CAPTURE_LLVM_COMPAT_H
#define PSNAP_CAPTURE_LLVM_COMPAT_H

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

#if LLVM_VERSION_MAJOR >= 22
#    include "llvm/Plugins/PassPlugin.h"
#else
#    include "llvm/Passes/PassPlugin.h"
#endif

namespace psnap
{

/* "DW_LANG_C11", or "DW_LNAME_C" of DWARF 6, which keeps the edition apart */
inline llvm::StringRef languageName(const llvm::DICompileUnit &unit)
{
#if LLVM_VERSION_MAJOR >= 22
    llvm::DISourceLanguageName language = unit.getSourceLanguage();
    if (language.hasVersionedName())
        return llvm::dwarf::SourceLanguageNameString(
            static_cast<llvm::dwarf::SourceLanguageName>(language.getName()));
    return llvm::dwarf::LanguageString(language.getName());
#else
    return llvm::dwarf::LanguageString(unit.getSourceLanguage());
#endif
}

inline llvm::SCEVExpander expanderOf(llvm::ScalarEvolution &evolution,
                                     const llvm::DataLayout &layout)
{
#if LLVM_VERSION_MAJOR >= 22
    (void)layout;
    return llvm::SCEVExpander(evolution, "psnap");
#else
    return llvm::SCEVExpander(evolution, layout, "psnap");
#endif
}

} // namespace psnap

#endif
