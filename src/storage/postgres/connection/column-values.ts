/** Numbers of PostgreSQL's types, from its catalogue `pg_type`. */
const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT2 = 21
const INT4 = 23
const FLOAT4 = 700
const FLOAT8 = 701

/** Type parsers of the driver: every type that is not named here stays text, as the server writes it. */
export const COLUMN_VALUES = {
  getTypeParser(type: number): (text: string) => unknown {
    switch (type) {
      case BOOL:
        return (text) => text === 't'
      case BYTEA:
        return readBytes
      case INT8:
        return readInt8
      case INT2:
      case INT4:
      case FLOAT4:
      case FLOAT8:
        return Number
      default:
        return (text) => text
    }
  },
}

/**
 * Reads an int8. Times are microseconds, which a double holds exactly until the year 2255; a number that it
 * does not hold must not be rounded silently.
 */
function readInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new Error(`found the int8 ${text}, expected at most 2^53`)
  return value
}

/** Reads a bytea in the form `hex`, the server's default. */
function readBytes(text: string): Buffer {
  // no test: `bytea_output` is `hex` since PostgreSQL 9.0
  if (!text.startsWith('\\x')) throw new Error('found a bytea in another form, expected bytea_output = hex')
  return Buffer.from(text.slice(2), 'hex')
}
