/** Cuts a text to `max` UTF-16 units and adds `…` to a cut one. A surrogate pair is not split. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  const cut = text.slice(0, max)
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`
}
