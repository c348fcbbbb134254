import { type Db, statement } from '../connection/database.js'

/** Name with the time that makes it unique. */
interface LongForm {
  longForm: string
  /** µs UTC */
  createdAtUs: number
}

/**
 * Takes a long form: the name, `_`, and the creation time in epoch seconds, its fraction without trailing
 * zeros. When that long form was ever taken before, the next free microsecond becomes the creation time, so
 * that the name and `created_at` always agree. To be called within a transaction.
 */
export function takeLongForm(db: Db, shortForm: string, nowUs: number): LongForm {
  const take = statement(db, 'INSERT INTO taken_name (long_form) VALUES (?) ON CONFLICT DO NOTHING')
  for (let createdAtUs = nowUs; ; createdAtUs++) {
    const longForm = `${shortForm}_${epochSeconds(createdAtUs)}`
    if (take.run(longForm).changes === 1) return { longForm, createdAtUs }
  }
}

/** Returns a name without its optional prefix `ddc:`. */
export function withoutPrefix(label: string): string {
  return label.startsWith('ddc:') ? label.slice('ddc:'.length) : label
}

function epochSeconds(us: number): string {
  const fraction = String(us % 1e6)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${Math.floor(us / 1e6)}${fraction === '' ? '' : `.${fraction}`}`
}
