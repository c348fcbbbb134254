/** Between the notes of a link: U+001F, which no text for people has. */
const SEPARATOR = '\u001f'

/** Notes as one string of the pool. */
export function joinNotes(notes: readonly string[]): string {
  return notes.map((note) => note.replaceAll(SEPARATOR, ' ')).join(SEPARATOR)
}

export function splitNotes(text: string): string[] {
  return text === '' ? [] : text.split(SEPARATOR)
}
