/** Levels of a topic, in its order. */
export type Levels = readonly string[]

/** Returns the levels of a topic. */
export function levelsOf(topic: string): Levels {
  return topic.split('/')
}

/**
 * Makes the test of a topic filter: `+` stands for one level, `#` at the end for any number, also none. Names that
 * begin with `$` match no wildcard at their first level (MQTT 5, section 4.7.2). The group of a shared subscription
 * is no part of the filter.
 */
export function topicTest(filter: string): (topic: string, levels: Levels) => boolean {
  const wanted = levelsOf(filter.replace(/^\$share\/[^/]*\//, ''))
  const isOpen = wanted.at(-1) === '#'
  const fixed = isOpen ? wanted.slice(0, -1) : wanted
  return (topic, levels) => {
    if (isOpen ? levels.length < fixed.length : levels.length !== fixed.length) return false
    if (topic.startsWith('$') && (wanted[0] === '+' || wanted[0] === '#')) return false
    return fixed.every((level, at) => level === '+' || level === levels[at])
  }
}
