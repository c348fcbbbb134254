/** Separator between the notes of a link: U+001F, a control character that text does not contain. */
const SEPARATOR = '\u001f'

/** Joins notes to one string for the pool; a separator inside a note becomes a space. */
export function joinNotes(notes: readonly string[]): string {
  return notes.map((note) => note.replaceAll(SEPARATOR, ' ')).join(SEPARATOR)
}

/** Splits a string of the pool into its notes. */
export function splitNotes(text: string): string[] {
  return text === '' ? [] : text.split(SEPARATOR)
}
