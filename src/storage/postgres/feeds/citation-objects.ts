import { type CopyKey, citationDiffers } from '../../exchange/citation-copies.js'
import type { PostgresDb, Rows } from '../connection/database.js'

/** Citation of another node whose rows are an object of the bucket. */
export interface CitationObject extends CopyKey {
  /** SHA-256 of the object */
  readonly sha256: string
  /** grows in the order in which citations were completed */
  readonly seq: number
}

/** Offer of a citation. */
interface Claim extends CopyKey {
  /** SHA-256 of the canonical text of its rows */
  readonly checksum: string
}

/** Citations of other nodes that a hub has, in all of its processes. What is returned is committed. */
export interface CitationObjects {
  /**
   * Notes the rows of a long form; those of the first offer stay.
   *
   * @returns true when the citation is complete
   * @throws AppError CITATION_DIFFERS
   */
  claim(offer: Claim, nowUs: number): Promise<boolean>
  /** Completes a citation whose object is stored. @throws AppError CITATION_DIFFERS for one that was not claimed */
  complete(citation: CopyKey & Pick<CitationObject, 'sha256'>): Promise<void>
  /** Returns those that were completed after a number, in this order. */
  after(seq: number): Promise<CitationObject[]>
}

interface ClaimRow {
  origin: string
  checksum: string
  sha256: string | null
}

const FIND = 'SELECT origin_node AS origin, checksum, sha256 FROM citation_object WHERE long_form = $1'
const CLAIM = `INSERT INTO citation_object (long_form, origin_node, checksum, offered_at_us) VALUES ($1, $2, $3, $4)
  ON CONFLICT DO NOTHING`
/** Numbers are committed in their order: a process that has seen one never comes back for a lower one. */
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('fieldgate citations', 0))`
/** An object that was stored before is the same one. Other bytes, of a repair, are a news to all processes. */
const COMPLETE = `UPDATE citation_object SET sha256 = $3,
    seq = (SELECT coalesce(max(seq), 0) + 1 FROM citation_object)
  WHERE long_form = $1 AND origin_node = $2 AND sha256 IS DISTINCT FROM $3`
const AFTER = `SELECT origin_node AS origin, long_form AS "longForm", sha256, seq FROM citation_object
  WHERE seq > $1 ORDER BY seq`

/** Creates the citations of other nodes. */
export function createCitationObjects(db: PostgresDb): CitationObjects {
  const requireClaimed = async (rows: Rows, { longForm, origin }: CopyKey): Promise<ClaimRow> => {
    const found = await rows.get<ClaimRow>(FIND, longForm)
    if (found?.origin === origin) return found
    throw citationDiffers(longForm, 'is that of another node here')
  }
  return {
    claim: ({ origin, longForm, checksum }, nowUs) =>
      db.write(async (rows) => {
        await rows.run(CLAIM, longForm, origin, checksum, nowUs)
        const found = await requireClaimed(rows, { longForm, origin })
        if (found.checksum !== checksum) throw citationDiffers(longForm, 'was offered with other rows before')
        return found.sha256 !== null
      }),
    complete: ({ origin, longForm, sha256 }) =>
      db.write(async (rows) => {
        await rows.get(LOCK)
        await requireClaimed(rows, { longForm, origin })
        await rows.run(COMPLETE, longForm, origin, sha256)
      }),
    after: (seq) => db.read.all<CitationObject>(AFTER, seq),
  }
}
