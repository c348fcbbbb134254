/** Letters that Unicode does not decompose, with their usual spelling in search. */
const SPELLED: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
}
/** Most letters of a key; longer names are found by their beginning. */
const MAX_KEY = 60
/** Most keys of a name, so that a long one does not fill the index. */
const MAX_KEYS = 12

/**
 * Folds a text for search: small letters without accents, one width, hiragana for katakana, words separated by
 * one space.
 */
export function foldName(text: string): string {
  return (
    text
      .normalize('NFKD')
      // accents of Latin, Greek and Cyrillic; the marks of kana change the sound and stay
      .replace(/[\u0300-\u036f]/g, '')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[ßæœøđðþłħı]/g, (letter) => SPELLED[letter] ?? letter)
      .replace(/[\u30a1-\u30f6]/g, (kana) => String.fromCharCode(kana.charCodeAt(0) - 0x60))
      .replace(/['’ʼ`´]/g, '')
      .replace(/[^\p{L}\p{M}\p{N}ー]+/gu, ' ')
      .trim()
  )
}

/**
 * Returns the keys under which a name is found: the folded name from each of its words on. A script without
 * spaces has a key from each character on.
 */
export function searchKeys(name: string): string[] {
  const folded = foldName(name)
  if (folded === '') return []
  const letters = [...folded]
  const keys = new Set<string>()
  for (const [at, letter] of letters.entries()) {
    const before = letters[at - 1]
    const isStart = before === undefined || before === ' ' || isIdeograph(letter)
    if (letter === ' ' || !isStart) continue
    keys.add(letters.slice(at, at + MAX_KEY).join(''))
    if (keys.size === MAX_KEYS) break
  }
  return [...keys]
}

function isIdeograph(letter: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}]/u.test(letter)
}
