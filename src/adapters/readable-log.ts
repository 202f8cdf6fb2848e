import { styleText } from 'node:util'
import pino from 'pino'
import { escaped } from './escaped.ts'

/** A JSON line of the log in readable form: local time, level, message, `key=value`; below it the stack of an error. */
export const readable = (json: string): string => {
  const { level: pinoLevel, time, pid, hostname, msg, err, ...facts } = JSON.parse(json)
  const clock = paint('dim', new Date(time).toTimeString().slice(0, 8))
  const level: number = pino.levels.values[pinoLevel] ?? pinoLevel
  const style = level >= 50 ? 'red' : level >= 40 ? 'yellow' : 'reset'
  const label = paint(style, pino.levels.labels[level]?.padEnd(5) ?? '')
  const pairs = Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ` ${paint('cyan', `${name}=`)}${escaped(textOf(value))}`)
  const error = err ? `\n${err.stack ?? err.message}${err.cause ? `\ncause: ${err.cause}` : ''}` : ''
  const below = error.split('\n').map(escaped).join('\n  ')
  return `${clock} ${label} ${paint('bold', msg)}${pairs.join('')}${below}\n`
}

const paint = (style: Parameters<typeof styleText>[0], text: string): string =>
  styleText(style, text, { stream: process.stderr })

const textOf = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value)
