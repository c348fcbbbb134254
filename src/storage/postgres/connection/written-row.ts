/** Returns a row that was just written. @throws Error for none, which cannot happen */
export function writtenRow<Row>(row: Row | undefined): Row {
  // no test: the row is written in the same transaction
  if (row === undefined) throw new Error('found no row after it was written, expected one')
  return row
}
