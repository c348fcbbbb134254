import type { AppliedBundle, AppliedFile } from '../../bundles/apply.js'
import type { WrittenFor } from '../../bundles/write.js'
import { sizeText } from '../models/model-data.js'

/** Returns one line about a bundle that was written. */
export function writtenText({ node, bytes, rows, models, cut, modelsLeft, refused }: WrittenFor): string {
  const left = [
    ...cut.map((table) => `rows of ${table}`),
    ...(modelsLeft > 0 ? [`${modelsLeft} models`] : []),
  ]
  const parts = [
    `For ${node.name}: ${rows} rows, ${models} models (${sizeText(bytes)})`,
    ...(left.length > 0 ? [`left for the next bundle: ${left.join(', ')}`] : []),
    ...refused.map((reason) => `left out: ${reason}`),
  ]
  return parts.join('; ')
}

/** Returns a bundle that was written as scripts read it. */
export function writtenJson({ node, bundleId, ...rest }: WrittenFor): object {
  const { bytes, rows, models, cut, modelsLeft, refused } = rest
  return {
    node: node.nodeId,
    name: node.name,
    bundle: bundleId,
    bytes,
    rows,
    models,
    cut,
    modelsLeft,
    refused,
  }
}

/** Returns whether everything of a file was taken, now or before. */
export function isWhole({ bundles }: AppliedFile): boolean {
  return bundles.every(
    ({ feeds, models }) => feeds.every(({ keptOut }) => keptOut === null) && models.refused.length === 0,
  )
}

/** Returns lines about a file that was taken. */
export function appliedText({ bundles, others }: AppliedFile): string {
  const lines = bundles.flatMap(bundleLines)
  if (others > 0) lines.push(`${others} bundles in the file are for other gateways`)
  return lines.map((line) => `${line}\n`).join('')
}

function bundleLines({ node, feeds, models, received }: AppliedBundle): string[] {
  const lines = feeds.map(({ table, written, batches, known, keptOut }) => {
    const news = batches === 0 && keptOut === null ? 'nothing new' : `${written} rows written`
    const before = known === 0 ? '' : `, ${known} batches were here before`
    return `${node.name}: ${table}: ${news}${before}${keptOut === null ? '' : `; KEPT OUT: ${keptOut}`}`
  })
  if (models.taken + models.known > 0)
    lines.push(`${node.name}: ${models.taken} models taken, ${models.known} were here before`)
  lines.push(...models.refused.map((reason) => `${node.name}: model KEPT OUT: ${reason}`))
  if (received.moved.length + received.delivered > 0)
    lines.push(`${node.name} acknowledges ${received.moved.length} feeds and ${received.delivered} models`)
  if (received.setAside > 0) lines.push(`${node.name} refused ${received.setAside} rows, which are set aside`)
  return lines.length > 0 ? lines : [`${node.name}: nothing new`]
}

/** Returns a file that was taken as scripts read it. */
export function appliedJson({ bundles, others }: AppliedFile): object {
  return {
    others,
    bundles: bundles.map(({ node, bundleId, feeds, models, received }) => ({
      ...{ node: node.nodeId, name: node.name, bundle: bundleId, feeds, models },
      acknowledged: { feeds: received.moved, models: received.delivered, setAside: received.setAside },
    })),
  }
}
