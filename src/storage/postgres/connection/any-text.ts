/*
 * Text of callers may hold U+0000, which no text of PostgreSQL does. It is stored as two characters, in such a way
 * that texts sort as before: U+0000 as U+0001 U+0001, and U+0001 as U+0001 U+0002.
 */

/** Regular expression of one character of a stored text. */
export const ONE_CHARACTER = '(?:\\x01.|[^\\x01])'

/** Returns the form in which a text is stored. */
export function storedText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  return text.replace(/[\u0000\u0001]/g, (one) => (one === '\u0000' ? '\u0001\u0001' : '\u0001\u0002'))
}

/** Returns the text of a stored form. */
export function readStoredText(stored: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
  return stored.replace(/\u0001([\u0001\u0002])/g, (_, mark) => (mark === '\u0001' ? '\u0000' : '\u0001'))
}
