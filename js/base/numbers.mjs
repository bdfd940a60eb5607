// Numbers that come as text.

/**
 * Decimal digits and nothing else: no blank, no sign, no "1e3", no "0x10".
 * @param {string | undefined} text @param {number} least @param {number} most
 * @returns {number | undefined} nothing where it is not such a number
 */
export function wholeNumber(text, least, most) {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= least && number <= most ? number : undefined;
}
