/** Longest topic, bytes: its length has two bytes. */
const MAX_BYTES = 65_535

/**
 * Fills a topic: `{column}` stands for the value of that column. Characters with a meaning in topics become `_`, so
 * that a value is one level; a value that is null or missing is `_` as well.
 */
export function topicOf(template: string, values: Readonly<Record<string, unknown>>): string {
  const filled = template.replaceAll(/\{([^{}]+)\}/g, (_all, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : null
    if (value === null || value === undefined) return '_'
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    return text === '' ? '_' : text.replaceAll(/[/+#\0]/g, '_').toWellFormed()
  })
  return Buffer.from(filled).subarray(0, MAX_BYTES).toString()
}
