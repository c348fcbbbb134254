import type { ModelRows, OpenSignature } from '../../models/models.js'
import { readStoredText } from '../connection/any-text.js'
import type { PostgresDb } from '../connection/database.js'

type SignatureRows = Pick<ModelRows, 'signatureOf' | 'openSignatures' | 'judgeSignatures'>

const OPEN = `SELECT g.seq, m.sha256, g.bundle FROM model_signature AS g JOIN model AS m USING (seq)
  WHERE g.verdict IS NULL AND g.seq > $1 ORDER BY g.seq LIMIT $2`
const JUDGE = `UPDATE model_signature AS g SET key_hint = v.key_hint, verdict = v.verdict
  FROM unnest($1::bigint[], $2::text[], $3::text[]) AS v (seq, key_hint, verdict) WHERE g.seq = v.seq`

/** Creates the rows of signatures, which are removed with their models. */
export function createSignatures(db: PostgresDb): SignatureRows {
  return {
    async signatureOf(modelId) {
      const find =
        'SELECT g.bundle FROM model AS m JOIN model_signature AS g USING (seq) WHERE m.model_id = $1'
      const row = await db.read.get<{ bundle: string }>(find, modelId)
      return row === undefined ? undefined : readStoredText(row.bundle)
    },
    async openSignatures(afterSeq, limit) {
      const found = await db.read.all<OpenSignature>(OPEN, afterSeq, limit)
      return found.map((one) => ({ ...one, bundle: readStoredText(one.bundle) }))
    },
    async judgeSignatures(verdicts) {
      const [seqs, hints, words] = [
        verdicts.map(({ seq }) => seq),
        verdicts.map(({ keyHint }) => keyHint),
        verdicts.map(({ verdict }) => verdict),
      ]
      await db.write((rows) => rows.run(JUDGE, seqs, hints, words))
    },
  }
}
