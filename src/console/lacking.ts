import { session } from './api.ts'
import { type Child, h } from './dom.ts'

/** The content of a view whose scope the key lacks. */
export const lacking = (title: string, scope: string): Child => [
  h('header', {}, h('h1', {}, title)),
  h(
    'section.card',
    {},
    h('p', {}, 'Your key lacks the scope ', h('code', {}, scope), '.'),
    h('p.muted', {}, 'The operator of the server can open one with more scopes:'),
    h('pre', {}, session.command()),
  ),
]
