import type { ModelRows, OpenSignature } from '../../models/models.js'
import { statement } from '../connection/database.js'
import { type StateDb, writeState } from '../connection/state-db.js'

type SignatureRows = Pick<ModelRows, 'signatureOf' | 'openSignatures' | 'judgeSignatures'>

/** Creates the rows of signatures, which are removed with their models. */
export function createSignatures(state: StateDb): SignatureRows {
  const { db } = state
  return {
    signatureOf: async (modelId) =>
      statement<{ bundle: string }>(
        db,
        'SELECT g.bundle FROM model m JOIN model_signature g ON g.seq = m.seq WHERE m.model_id = ?',
      ).get(modelId)?.bundle,
    openSignatures: async (afterSeq, limit) =>
      statement<OpenSignature>(
        db,
        `SELECT g.seq, m.sha256, g.bundle FROM model_signature g JOIN model m ON m.seq = g.seq
         WHERE g.verdict IS NULL AND g.seq > ? ORDER BY g.seq LIMIT ?`,
      ).all(afterSeq, limit),
    judgeSignatures: (verdicts) =>
      writeState(state, () => {
        const update = statement(db, 'UPDATE model_signature SET key_hint = ?, verdict = ? WHERE seq = ?')
        for (const { seq, keyHint, verdict } of verdicts) update.run(keyHint, verdict, seq)
      }),
  }
}
