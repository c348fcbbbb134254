import { flagsOf, packOutcome, speedOf } from '../../routing/graph/conditions.js'
import { LINK_FLAG } from '../../routing/graph/graph.js'
import type { Segments } from '../network/segments.js'
import type { Decision } from '../profile/decision.js'

/** Access of a link at one time. */
export const ACCESS = { closed: 0, public: 1, private: 2 } as const

/** Access of all links at the times at which least, and most, of them is public. */
export interface LinkAccess {
  /** link → access; a link that conditions change is private where it is so at some time, else closed */
  readonly strict: Uint8Array
  /** link → access; public where it is so at some time */
  readonly widest: Uint8Array
  /** true where conditions change the access of any link */
  readonly hasVarying: boolean
  /** Returns true for a link whose access conditions change. */
  isVarying(link: number): boolean
}

/** Returns the outcomes of a link: one where no condition changes it. */
export function outcomesOf({ linkDecisions, linkSpeed, linkFlags }: Segments, link: number): Decision {
  const speed = linkSpeed[link]!
  const usual = speed === 0 ? 0 : packOutcome(speed, linkFlags[link]!)
  return linkDecisions.get(link) ?? { when: [], out: [usual] }
}

/** Returns the access of an outcome. */
export function accessOf(outcome: number): number {
  if (speedOf(outcome) === 0) return ACCESS.closed
  return (flagsOf(outcome) & LINK_FLAG.PRIVATE) === 0 ? ACCESS.public : ACCESS.private
}

/** Finds the access of all links. Linear. */
export function findAccess(segments: Segments): LinkAccess {
  const strict = new Uint8Array(segments.count * 2)
  const varying = new Set<number>()
  for (let link = 0; link < strict.length; link++) {
    const [usual = ACCESS.closed, ...others] = outcomesOf(segments, link).out.map(accessOf)
    strict[link] = usual
    if (others.every((one) => one === usual)) continue
    varying.add(link)
    const isPrivate = usual === ACCESS.private || others.includes(ACCESS.private)
    strict[link] = isPrivate ? ACCESS.private : ACCESS.closed
  }
  const widest = strict.slice()
  for (const link of varying) {
    if (outcomesOf(segments, link).out.some((one) => accessOf(one) === ACCESS.public))
      widest[link] = ACCESS.public
  }
  return { strict, widest, hasVarying: varying.size > 0, isVarying: (link) => varying.has(link) }
}
