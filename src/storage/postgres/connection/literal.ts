import pg from 'pg'

/** Returns a text as a literal of SQL, for statements that can have no parameters. */
export function literalOf(text: string): string {
  return pg.escapeLiteral(text)
}
