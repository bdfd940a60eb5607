// Characters that are drawn like others, written down by hand: Latin, Greek, Cyrillic, Armenian,
// and the scripts whose capitals are those of Latin (Cherokee, Lisu). characters.mjs reads them.
//
// Each row is the character that stands for a class, and the others of the class. A capital is
// listed where it is drawn like another letter than its small one (Greek Η and η); otherwise the
// rule for small letters holds for both. Pairs of letters that look like one (rn and m) are left
// out: too many honest words differ by them.

/** @type {readonly (readonly [string, string])[]} */
export const CONFUSABLES = [
  // One stroke, with or without a dot: no two of these are told apart in every font.
  ["l", "i1|ıɩɪʟǀ∣ⵏ" + "ιΙ" + "іІӏӀ" + "լ" + "ꓲꓡ" + "ᎥᏞ"],
  ["o", "0ᴏ" + "οΟσΣ" + "оО" + "օՕ" + "ꓳ"],
  ["a", "ɑᴀ" + "αΑ" + "аА" + "ꓮ" + "Ꭺ"],
  ["b", "ʙƅ" + "βΒ" + "вВьЬ" + "ꓐ" + "ᏏᏴ"],
  ["c", "ᴄ" + "сС" + "ꓚ" + "Ꮯ"],
  ["d", "ᴅ" + "ԁԀ" + "ꓓꓒ" + "ᎠᏧ"],
  ["e", "ᴇ℮" + "εΕ" + "еЕ" + "ꓰ" + "Ꭼ"],
  ["f", "ƒꜰ" + "ϝϜ" + "ꓝ"],
  ["g", "ɡɢ" + "ց" + "ꓖ" + "Ꮐ"],
  ["h", "ʜ" + "Η" + "һҺнН" + "հ" + "ꓧ" + "Ꮋ"],
  ["j", "ȷᴊ" + "ϳ" + "јЈ" + "յ" + "ꓙ" + "Ꭻ"],
  ["k", "ᴋ" + "κΚ" + "кК" + "ꓗ" + "Ꮶ"],
  ["m", "ᴍ" + "Μ" + "мМ" + "ꓟ" + "Ꮇ"],
  ["n", "ɴ" + "ηΝπΠ" + "п" + "ո" + "ꓠ"],
  ["p", "ᴘ" + "ρΡ" + "рР" + "ꓑ" + "Ꮲ"],
  ["q", "ԛԚ" + "զ"],
  ["r", "ʀ" + "Γ" + "гГ" + "ꓣ" + "ᎡᏒ"],
  ["s", "ꜱ" + "ѕЅ" + "Տ" + "ꓢ" + "ᏕᏚ"],
  ["t", "ᴛ" + "τΤ" + "тТ" + "ꓔ" + "Ꭲ"],
  ["u", "ᴜʊ" + "υμ" + "ս" + "ꓴ"],
  ["v", "ᴠʋ" + "ν" + "ѵѴ" + "ꓦ" + "ᏙᏤ"],
  ["w", "ᴡɯ" + "ω" + "ԝԜѡшШ" + "ա" + "ꓪ" + "ᎳᏔ"],
  ["x", "χΧ" + "хХ" + "ꓫ"],
  ["y", "ʏɣ" + "γΥ" + "уУүҮ" + "ꓬ" + "Ꮍ"],
  ["z", "ᴢ" + "ζΖ" + "ꓜ" + "Ꮓ"],
  ["3", "зЗӡӠʒƷȝȜ"],
  ["4", "Ꮞ"],
  ["6", "бБ"],
  ["8", "ȣȢ"],
  // Greek and Cyrillic that look like each other, and not like Latin.
  ["ф", "φΦɸ"],
  ["л", "λΛ"],
  ["д", "δΔ"],
  ["э", "єЄ"],
  // Signs.
  ["-", "‐‒–—―−⁃➖˗"],
  ["'", "‘’‛′ʹʼʻʽˈ`՚׳ꞌ"],
  ['"', "“”‟ʺ״"],
  [".", "․ꓸ"],
  ["·", "•‧∙⋅ꞏ・"],
  [",", "‚ꓹ،"],
  [":", "∶ː˸։׃꞉ꓽ"],
  ["/", "∕⁄⧸╱"],
  ["\\", "∖⧵╲"],
  ["~", "∼⁓˜"],
  ["*", "∗⁎"],
  ["+", "➕"],
  ["=", "꓿᐀"],
  ["!", "ǃ"],
  ["?", "ʔɂ"],
  ["<", "‹❮ᐸ"],
  [">", "›❯ᐳ"],
];
