import { type CheckContext, type Finding, isoTime, ok, warning } from './finding.js'

/** Age from which a bundle that nobody has acknowledged is a warning: a week. */
const LONG_US = 7 * 24 * 3_600_000_000

/** Checks for bundles that were written and whose content nobody has acknowledged, by any way. */
export async function checkBundles({ layout, maintenance, nowUs }: CheckContext): Promise<Finding[]> {
  const open = await maintenance.facts.openBundles(layout.root)
  if (open.length === 0) return [ok('no bundle waits for an acknowledgement')]
  return open.map(({ node, count, oldestUs }) => {
    const bundles = count === 1 ? '1 bundle' : `${count} bundles`
    const message = `${bundles} for ${node} not acknowledged, the oldest of ${isoTime(oldestUs)}`
    if (nowUs - oldestUs <= LONG_US) return ok(message)
    return warning(
      message,
      `apply them there, and bring back what \`fieldgate bundle write\` writes there; if they were lost, write another one for ${node}`,
    )
  })
}
