// Ignorer for Stryker: leaves out a share of the statements, by a seeded choice, so that a large room has a
// score in minutes.
const { MUTATE_SHARE = '1', MUTATE_SEED = '1' } = process.env

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'sample',
    value: {
      shouldIgnore(path) {
        dropAssertion(path)
        // the statements of a function's own body decide, each for everything that it holds
        const isDecisive =
          path.isStatement() &&
          path.parentPath?.isBlockStatement() &&
          path.parentPath.parentPath?.isFunction()
        if (!isDecisive || chance(`${MUTATE_SEED} ${path.toString()}`) < Number(MUTATE_SHARE))
          return undefined
        path.traverse({ UpdateExpression: dropAssertion }) // this is not called for what the statement holds
        return 'not in the sample'
      },
    },
  },
]

/**
 * Turns `counts[i]!++` into `counts[i]++`: Stryker 10 ends with an error at an increment of an expression with
 * `!`, also where nothing is changed.
 */
function dropAssertion({ node }) {
  if (node.type === 'UpdateExpression' && node.argument.type === 'TSNonNullExpression')
    node.argument = node.argument.expression
}

/** A number from 0 to 1 that a text decides (FNV-1a). */
function chance(text) {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0) / 2 ** 32
}
