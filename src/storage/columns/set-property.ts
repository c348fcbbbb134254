/**
 * Sets a property of a record whose names come from callers. Plain assignment would set the prototype for a
 * column named `__proto__`.
 */
export function setProperty(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(record, name, { value, enumerable: true })
  else record[name] = value
}
