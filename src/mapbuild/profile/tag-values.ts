/**
 * Looks up a tag's value in a table.
 *
 * @returns undefined for a value that is not listed, also for `constructor` and other names that every object
 *   has
 */
export function lookUp<T>(table: Readonly<Record<string, T>>, value: string | undefined): T | undefined {
  return value !== undefined && Object.hasOwn(table, value) ? table[value] : undefined
}

/** Set of the tag values in a text, which are separated by white space. */
export function setOf(values: string): ReadonlySet<string> {
  return new Set(values.trim().split(/\s+/))
}
