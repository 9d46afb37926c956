r"""Unicode properties: the names that `\p{…}` knows, and how they go with ignored case."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from pepys.recall.regex.case import cased, equal
from pepys.recall.regex.ranges import ALL, Ranges, of
from pepys.recall.regex.tree import Property

_CATEGORIES = """
    C Other, Cc Control cntrl, Cf Format, Cn Unassigned, Co Private_Use, Cs Surrogate, L Letter, LC Cased_Letter,
    Ll Lowercase_Letter, Lm Modifier_Letter, Lo Other_Letter, Lt Titlecase_Letter, Lu Uppercase_Letter,
    M Mark Combining_Mark, Mc Spacing_Mark, Me Enclosing_Mark, Mn Nonspacing_Mark, N Number, Nd Decimal_Number digit,
    Nl Letter_Number, No Other_Number, P Punctuation punct, Pc Connector_Punctuation, Pd Dash_Punctuation,
    Pe Close_Punctuation, Pf Final_Punctuation, Pi Initial_Punctuation, Po Other_Punctuation, Ps Open_Punctuation,
    S Symbol, Sc Currency_Symbol, Sk Modifier_Symbol, Sm Math_Symbol, So Other_Symbol, Z Separator, Zl Line_Separator,
    Zp Paragraph_Separator, Zs Space_Separator
"""

_BINARY = """
    ASCII_Hex_Digit AHex, Alphabetic Alpha, Bidi_Control Bidi_C, Bidi_Mirrored Bidi_M, Case_Ignorable CI, Cased, Dash,
    Default_Ignorable_Code_Point DI, Deprecated Dep, Diacritic Dia, Emoji, Emoji_Component EComp, Emoji_Modifier EMod,
    Emoji_Modifier_Base EBase, Emoji_Presentation EPres, Extended_Pictographic ExtPict, Extender Ext,
    Grapheme_Base Gr_Base, Grapheme_Extend Gr_Ext, Hex_Digit Hex, IDS_Binary_Operator IDSB, IDS_Trinary_Operator IDST,
    ID_Continue IDC, ID_Start IDS, Ideographic Ideo, Join_Control Join_C, Logical_Order_Exception LOE, Lowercase Lower,
    Noncharacter_Code_Point NChar, Pattern_Syntax Pat_Syn, Pattern_White_Space Pat_WS, Quotation_Mark QMark, Radical,
    Regional_Indicator RI, Sentence_Terminal STerm, Terminal_Punctuation Term, Unified_Ideograph UIdeo, Uppercase Upper,
    Variation_Selector VS, White_Space space, XID_Continue XIDC, XID_Start XIDS
"""

# Scripts by their names and their four letters; those of `_SHARED` are needed by one name.
_SCRIPTS = """
    Adlam Adlm Aghb Ahom Anatolian_Hieroglyphs Arab Arabic Armenian Armi Armn Avestan Avst Bali Balinese Bamu
    Bamum Bass Bassa_Vah Batak Batk Beng Bengali Berf Beria_Erfe Bhaiksuki Bhks Bopo Bopomofo Brah Brahmi Brai
    Braille Bugi Buginese Buhd Buhid Cakm Canadian_Aboriginal Cans Cari Carian Caucasian_Albanian Chakma Cham
    Cher Cherokee Chorasmian Chrs Common Copt Coptic Cpmn Cprt Cuneiform Cypriot Cypro_Minoan Cyrillic Cyrl
    Deseret Deva Devanagari Diak Dives_Akuru Dogr Dogra Dsrt Dupl Duployan Egyp Egyptian_Hieroglyphs Elba
    Elbasan Elym Elymaic Ethi Ethiopic Gara Garay Geor Georgian Glag Glagolitic Gong Gonm Goth Gothic Gran
    Grantha Greek Gujarati Gujr Gukh Gunjala_Gondi Gurmukhi Guru Gurung_Khema Han Hang Hangul Hani
    Hanifi_Rohingya Hano Hanunoo Hatr Hatran Hebr Hebrew Hira Hiragana Hluw Hmng Hmnp Hung Imperial_Aramaic
    Inherited Inscriptional_Pahlavi Inscriptional_Parthian Ital Java Javanese Kaithi Kali Kana Kannada Katakana
    Kawi Kayah_Li Khar Kharoshthi Khitan_Small_Script Khmer Khmr Khoj Khojki Khudawadi Kirat_Rai Kits Knda Krai
    Kthi Lana Lao Laoo Latin Latn Lepc Lepcha Limb Limbu Lina Linb Linear_A Linear_B Lisu Lyci Lycian Lydi
    Lydian Mahajani Mahj Maka Makasar Malayalam Mand Mandaic Mani Manichaean Marc Marchen Masaram_Gondi
    Medefaidrin Medf Meetei_Mayek Mend Mende_Kikakui Merc Mero Meroitic_Cursive Meroitic_Hieroglyphs Miao Mlym
    Modi Mong Mongolian Mro Mroo Mtei Mult Multani Myanmar Mymr Nabataean Nag_Mundari Nagm Nand Nandinagari Narb
    Nbat New_Tai_Lue Newa Nko Nkoo Nshu Nushu Nyiakeng_Puachue_Hmong Ogam Ogham Ol_Chiki Ol_Onal Olck
    Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic
    Old_Uyghur Onao Oriya Orkh Orya Osage Osge Osma Osmanya Ougr Pahawh_Hmong Palm Palmyrene Pau_Cin_Hau Pauc
    Perm Phag Phags_Pa Phli Phlp Phnx Phoenician Plrd Prti Psalter_Pahlavi Rejang Rjng Rohg Runic Runr Samaritan
    Samr Sarb Saur Saurashtra Sgnw Sharada Shavian Shaw Shrd Sidd Siddham Sidetic Sidt SignWriting Sind Sinh
    Sinhala Sogd Sogdian Sogo Sora Sora_Sompeng Soyo Soyombo Sund Sundanese Sunu Sunuwar Sylo Syloti_Nagri Syrc
    Syriac Tagalog Tagb Tagbanwa Tai_Le Tai_Tham Tai_Viet Tai_Yo Takr Takri Tale Talu Tamil Taml Tang Tangsa
    Tangut Tavt Tayo Telu Telugu Tfng Tglg Thaa Thaana Thai Tibetan Tibt Tifinagh Tirh Tirhuta Tnsa Todhri Todr
    Tolong_Siki Tols Toto Tulu_Tigalari Tutg Ugar Ugaritic Vai Vaii Vith Vithkuqi Wancho Wara Warang_Citi Wcho
    Xpeo Xsux Yezi Yezidi Yi Yiii Zanabazar_Square Zanb
"""

_SHARED = "Greek Grek, Common Zyyy, Inherited Zinh Qaai, Coptic Qaac, Unknown Zzzz"


def _names(table: str) -> dict[str, str]:
    """Each name of a table to the first one of its row."""
    return {name: row.split()[0] for row in table.split(",") for name in row.split()}


_CATEGORY, _BOOLEAN = _names(_CATEGORIES), _names(_BINARY)
_SCRIPT = {name: name for name in _SCRIPTS.split()} | _names(_SHARED)

# Code points that differ from all those they equal, and whether it is they that have the property.
_ODD: Mapping[str, tuple[tuple[str, bool], ...]] = {
    "sc=Greek": (("µ", False), ("\u0345", False)),
    "scx=Greek": (("µ", False),),
    "sc=Common": (("µ", True),),
    "scx=Common": (("µ", True),),
    "sc=Inherited": (("\u0345", True),),
    "Case_Ignorable": (("\u0345", True),),
    "Diacritic": (("\u0345", True),),
    "Grapheme_Extend": (("\u0345", True),),
    "Grapheme_Base": (("\u0345", False),),
    "ID_Start": (("\u0345", False),),
    "XID_Start": (("\u0345", False),),
    "Emoji": (("Ⓜ", True),),
    "Extended_Pictographic": (("Ⓜ", True),),
}


def named(text: str) -> Property | Ranges | None:
    r"""The term of `\p{text}`: a property, or a set that needs none; None if there is no such property."""
    name, equals, value = text.partition("=")
    if not equals:
        if name == "ASCII":
            return ((0, 0x7F),)
        if name == "Any":
            return ALL
        if name == "Assigned":
            return Property("gc=Cn", negated=True)
        if name in _CATEGORY:
            return Property("gc=" + _CATEGORY[name], negated=False)
        return Property(_BOOLEAN[name], negated=False) if name in _BOOLEAN else None
    if name in ("General_Category", "gc") and value in _CATEGORY:
        return Property("gc=" + _CATEGORY[value], negated=False)
    if name in ("Script", "sc") and value in _SCRIPT:
        return Property("sc=" + _SCRIPT[value], negated=False)
    if name in ("Script_Extensions", "scx") and value in _SCRIPT:
        return Property("scx=" + _SCRIPT[value], negated=False)
    return None


@lru_cache(maxsize=256)
def partners(term: Property) -> Ranges:
    """Code points that are not in *term*, but equal to one that is, when case is ignored."""
    return of(_partners(term))


def _partners(term: Property) -> Iterator[int]:
    for char, has in _ODD.get(term.name, ()):
        others = (code for code in equal(ord(char)) if code != ord(char))
        yield from others if has != term.negated else (ord(char),)
    holds = _predicate(term.name)
    if holds is not None:
        inside = {code for code in cased() if holds(chr(code)) != term.negated}
        yield from (code for code, others in cased().items() if code not in inside and not inside.isdisjoint(others))


def _predicate(name: str) -> Callable[[str], bool] | None:
    """Whether a code point has a property that goes with case; None for all others."""
    if name == "Uppercase":
        return str.isupper
    if name == "Lowercase":
        return str.islower
    if not name.startswith("gc="):
        return None
    value = name.removeprefix("gc=")
    prefixes = ("Lu", "Ll", "Lt") if value == "LC" else (value,)
    return lambda char: unicodedata.category(char).startswith(prefixes)
