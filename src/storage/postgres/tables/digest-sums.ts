import { type DigestSum, readSum, sumBytes } from '../../exchange/row-digest.js'

/** Bytes of a sum. */
const SUM_BYTES = 32

/** Returns a sum as a number, for a `numeric` of PostgreSQL, which adds sums within one statement. */
export function sumNumber(sum: DigestSum): bigint {
  return BigInt(`0x${Buffer.from(sumBytes(sum)).reverse().toString('hex')}`)
}

/** Reads a sum from the text of its number. */
export function readSumNumber(rows: number, text: string): DigestSum {
  const hex = BigInt(text)
    .toString(16)
    .padStart(SUM_BYTES * 2, '0')
  return readSum(rows, Buffer.from(hex, 'hex').reverse())
}
