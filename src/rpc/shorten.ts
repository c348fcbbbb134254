/** At most `max` UTF-16 units of a text and `…` when it is longer; never half a character. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  const cut = text.slice(0, max)
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`
}
