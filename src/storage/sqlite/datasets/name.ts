import { type Db, statement } from '../connection/database.js'

/** A name with the instant that makes it unique. */
export interface LongForm {
  longForm: string
  createdAtUs: number
}

/**
 * Name, `_`, and the creation time in epoch seconds, its fraction without zeros at the end. When the name was taken in
 * the same microsecond, or ever before, the next free one is the creation time: the number and `created_at` always agree.
 * Within a transaction.
 */
export function takeLongForm(db: Db, shortForm: string, nowUs: number): LongForm {
  const take = statement(db, 'INSERT INTO taken_name (long_form) VALUES (?) ON CONFLICT DO NOTHING')
  for (let createdAtUs = nowUs; ; createdAtUs++) {
    const longForm = `${shortForm}_${epochSeconds(createdAtUs)}`
    if (take.run(longForm).changes === 1) return { longForm, createdAtUs }
  }
}

/** The optional prefix of names that stand for tables. */
export function withoutPrefix(label: string): string {
  return label.startsWith('ddc:') ? label.slice('ddc:'.length) : label
}

function epochSeconds(us: number): string {
  const fraction = String(us % 1e6)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${Math.floor(us / 1e6)}${fraction === '' ? '' : `.${fraction}`}`
}
