/** A row of a table by a word from outside: `constructor` and the like, which every object has, are no rows. */
export function lookUp<T>(table: Readonly<Record<string, T>>, word: string | undefined): T | undefined {
  return word !== undefined && Object.hasOwn(table, word) ? table[word] : undefined
}
