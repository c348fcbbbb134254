/**
 * Returns the fields of a line (RFC 4180): quoted ones may hold the separator, and quotes that are doubled.
 *
 * @returns undefined when a quote is not closed, or something follows a closing one
 */
export function csvFields(line: string, separator: string): string[] | undefined {
  const fields: string[] = []
  let at = 0
  for (;;) {
    if (line[at] === '"') {
      const end = endOfQuoted(line, at + 1)
      if (end === undefined || (end < line.length && line[end] !== separator)) return undefined
      fields.push(line.slice(at + 1, end - 1).replaceAll('""', '"'))
      at = end
    } else {
      const end = line.indexOf(separator, at)
      fields.push(line.slice(at, end === -1 ? undefined : end))
      at = end === -1 ? line.length : end
    }
    if (at >= line.length) return fields
    at++ // the separator
    if (at === line.length) return [...fields, '']
  }
}

/** @returns position after the closing quote; undefined when there is none */
function endOfQuoted(line: string, from: number): number | undefined {
  for (let at = line.indexOf('"', from); at !== -1; at = line.indexOf('"', at + 2))
    if (line[at + 1] !== '"') return at + 1
  return undefined
}
