import { gzipSync } from 'node:zlib'

/** A text file of an archive. */
export interface TarEntry {
  /** at most 99 bytes of ASCII */
  name: string
  text: string
}

const BLOCK = 512

/**
 * Returns a small archive in memory, readable by `tar xzf`.
 *
 * @see POSIX.1-1988, the ustar interchange format
 */
export function tarGz(entries: readonly TarEntry[], atMs: number): Buffer {
  const blocks = entries.flatMap(({ name, text }) => {
    const body = Buffer.from(text, 'utf8')
    const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)
    return [headerOf(name, body.length, atMs), body, padding]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]))
}

function headerOf(name: string, bytes: number, atMs: number): Buffer {
  if (!/^[\x20-\x7e]{1,99}$/.test(name))
    throw new Error(`found the name ${name}, expected 1 to 99 printable ASCII characters`)
  const header = Buffer.alloc(BLOCK)
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`
  header.write(name, 0)
  header.write(octal(0o600, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(bytes, 12), 124)
  header.write(octal(Math.floor(atMs / 1000), 12), 136)
  header.write('        0', 148) // the checksum field counts as blanks; the type that follows is a plain file
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}
