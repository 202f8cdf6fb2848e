-- Bodies of webhooks and how they are sent: see the same on PostgreSQL.
alter table webhook_endpoints add column body text;
alter table webhook_endpoints add column method text not null default 'POST';
